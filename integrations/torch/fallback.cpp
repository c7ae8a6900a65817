#include "integrations/torch/fallback.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUFallback.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "integrations/torch/cpu_generators.h"

namespace spirloom::pytorch {
namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::string, CpuCalls> calls;
};

Counts& TheCounts() {
  static Counts* const counts = new Counts;
  return *counts;
}

bool IsStrict() {
  static const bool strict = [] {
    const char* value = std::getenv("SPIRLOOM_STRICT");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return strict;
}

// The dtype of the first tensor of the arguments, which may be in a list.
c10::ScalarType TypeOfArguments(const torch::jit::Stack& stack, size_t first) {
  for (size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isTensor() && stack[i].toTensor().defined()) {
      return stack[i].toTensor().scalar_type();
    }
    if (stack[i].isTensorList()) {
      for (const at::Tensor& tensor : stack[i].toTensorVector()) {
        if (tensor.defined()) return tensor.scalar_type();
      }
    }
  }
  return c10::ScalarType::Undefined;
}

std::string NameOf(const c10::FunctionSchema& schema) {
  std::string name = schema.name();
  if (!schema.overload_name().empty()) name += '.' + schema.overload_name();
  return name;
}

using torch::CppFunction;

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(CppFunction::makeFromBoxedFunction<&Fallback>());
}

// Operators with a kernel for all devices that requires more kernels of a device, or that reads
// memory as the CPU does, are registered by name: the fallback alone would not be reached.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const char* name : {
           "_grid_sampler_2d_cpu_fallback",
           "_grid_sampler_2d_cpu_fallback_backward",
           "_saturate_weight_to_fp16",
       }) {
    m.impl(name, CppFunction::makeFromBoxedFunction<&Fallback>());
  }
}

}  // namespace

void RunOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& reason) {
  const c10::FunctionSchema& schema = op.schema();
  const size_t first = stack->size() - schema.arguments().size();
  CountOnCpu(NameOf(schema), TypeOfArguments(*stack, first), reason);
  CpuGenerators generators(schema, *stack, first);
  // A view would be a copy: an error is better.
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
  generators.Update();
}

void Fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  RunOnCpu(op, stack, "it has no Vulkan kernel");
}

void CountOnCpu(const std::string& name, c10::ScalarType type, const std::string& reason) {
  TORCH_CHECK_NOT_IMPLEMENTED(!IsStrict(), name, " (", c10::toString(type),
                              ") would run on the CPU: ", reason,
                              ". Unset SPIRLOOM_STRICT to permit it.");
  Counts& counts = TheCounts();
  {
    const std::scoped_lock lock(counts.mutex);
    auto [found, is_new] = counts.calls.try_emplace(name);
    ++found->second.count;
    if (!is_new) return;
    found->second.name = name;
    found->second.reason = reason;
  }
  TORCH_WARN(name, " (", c10::toString(type), ") runs on the CPU: ", reason,
             ". torch.vulkan.cpu_calls() counts such calls.");
}

std::vector<CpuCalls> CallsOnCpu() {
  Counts& counts = TheCounts();
  const std::scoped_lock lock(counts.mutex);
  std::vector<CpuCalls> calls;
  for (const auto& [name, each] : counts.calls) {
    if (each.count > 0) calls.push_back(each);
  }
  return calls;
}

void ResetCallsOnCpu() {
  Counts& counts = TheCounts();
  const std::scoped_lock lock(counts.mutex);
  for (auto& [name, each] : counts.calls) each.count = 0;
}

}  // namespace spirloom::pytorch
