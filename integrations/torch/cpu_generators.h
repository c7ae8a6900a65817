#ifndef SPIRLOOM_INTEGRATIONS_TORCH_CPU_GENERATORS_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_CPU_GENERATORS_H_

#include <ATen/core/Generator.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <mutex>
#include <vector>

namespace spirloom::pytorch {

// CPU kernels refuse a generator of another device, and take their default one if none is given.
// Replaces both by a CPU generator with the state of this device's.
class CpuGenerators {
 public:
  CpuGenerators(const c10::FunctionSchema& schema, torch::jit::Stack& stack, size_t first);
  CpuGenerators(const CpuGenerators&) = delete;
  CpuGenerators& operator=(const CpuGenerators&) = delete;

  // Stores the states after the call.
  void Update();

 private:
  // Other threads draw from the generator before or after the call.
  struct Pair {
    at::Generator own;
    at::Generator cpu;
    std::unique_lock<std::mutex> lock;
  };

  void Replace(c10::IValue& value, at::Generator own);

  std::vector<Pair> pairs_;
};

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_CPU_GENERATORS_H_
