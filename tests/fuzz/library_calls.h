// Calls every operator of a shader library that may be hostile.
#ifndef SPIRLOOM_TESTS_FUZZ_LIBRARY_CALLS_H_
#define SPIRLOOM_TESTS_FUZZ_LIBRARY_CALLS_H_

#include "runtime/ops/op_index.h"

namespace spirloom::fuzz {

// Evaluates every formula for one call of each op.
void EvaluateFormulas(const ops::OpIndex& index);

// Loads a graph of one node for each op, in every storage (plan_stages.h).
void LowerCalls(const ops::OpIndex& index);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_LIBRARY_CALLS_H_
