// Operators on int64 tensors that several kernels compute exactly: reductions, and the sign.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_INT64_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_INT64_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

namespace spirloom::pytorch {

// Replaces the arguments on the stack by the int64 result of such an operator. False, without a
// change, for other operators and tensors.
bool ComputeInt64(const c10::FunctionSchema& schema, torch::jit::Stack& stack);

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_INT64_H_
