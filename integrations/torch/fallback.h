// Operators without a Vulkan kernel run on the CPU. They are counted, and each is named once.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_FALLBACK_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_FALLBACK_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spirloom::pytorch {

// The calls of an operator that ran on the CPU.
struct CpuCalls {
  std::string name;    // "aten::add.Tensor"
  std::string reason;  // of the first call
  int64_t count = 0;
};

// Counts a call that runs on the CPU, and warns at the first one of the operator. With
// SPIRLOOM_STRICT=1, raises NotImplementedError with the operator, the dtype and the reason
// instead.
void CountOnCpu(const std::string& name, c10::ScalarType type, const std::string& reason);

// Runs a call on the CPU, with its arguments on the stack, and counts it.
void RunOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& reason);

// RunOnCpu() of an operator without a Vulkan kernel. An `out` overload of an operator that has one
// copies the results of that.
void Fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// The counted operators, sorted by name.
std::vector<CpuCalls> CallsOnCpu();
// Sets the counts to zero.
void ResetCallsOnCpu();

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_FALLBACK_H_
