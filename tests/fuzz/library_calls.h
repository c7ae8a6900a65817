// Calls every operator of an untrusted shader library.
#ifndef SPIRLOOM_TESTS_FUZZ_LIBRARY_CALLS_H_
#define SPIRLOOM_TESTS_FUZZ_LIBRARY_CALLS_H_

#include "runtime/ops/op_index.h"

namespace spirloom::fuzz {

// Evaluates every formula for one call of each op.
void EvaluateFormulas(const ops::OpIndex& index);

// Plans a single-node graph for each op in every storage (plan_stages.h).
void LowerCalls(const ops::OpIndex& index);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_LIBRARY_CALLS_H_
