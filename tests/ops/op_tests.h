// Runs the cases of a pack: of every variant of a library's operators against its reference, where
// `spirloom cases` made it, or of whole graphs. Each becomes a test of its own, so --gtest_filter
// and sharding work on them; an operator's becomes two: "Op" with the validation layers on,
// "Guarded" with guard bytes around every tensor. SPIRLOOM_CASE_SHARDS=N leaves one "Op" in N of
// each variant's, at least one, and others each day; SPIRLOOM_CASE_SHARD=K says which.
// SPIRLOOM_GUARDED_SHARDS and SPIRLOOM_GUARDED_SHARD do so for "Guarded", of all cases together.
//
//   op_tests [CASES.slcases] [--gtest_filter=Op.conv2d*]
#ifndef SPIRLOOM_TESTS_OPS_OP_TESTS_H_
#define SPIRLOOM_TESTS_OPS_OP_TESTS_H_

#include <string>
#include <vector>

#include "spirloom/library.h"

namespace spirloom::testing {

// Runs the cases of the file named on the command line, or of `cases`. The first library is the one
// under test; the others are there for operators that running a case may take. Returns the
// program's exit code.
int RunOpTests(int argc, char** argv, const std::vector<const ShaderLibrary*>& libraries,
               const std::string& cases);

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_OP_TESTS_H_
