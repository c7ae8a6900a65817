#include "integrations/torch/fallback.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUFallback.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "integrations/torch/device.h"
#include "integrations/torch/generator.h"

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

// CPU kernels refuse a generator of another device, and take their default one if none is given.
// Replaces both by a CPU generator with the state of this device's.
class CpuGenerators {
 public:
  CpuGenerators(const c10::FunctionSchema& schema, torch::jit::Stack& stack, size_t first) {
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      c10::IValue& value = stack[first + i];
      if (value.isGenerator()) {
        if (value.toGenerator().device().type() == kDeviceType) {
          Replace(value, value.toGenerator());
        }
      } else if (value.isNone() && IsOptionalGenerator(*schema.arguments()[i].type())) {
        Replace(value, DefaultGenerator());
      }
    }
  }
  CpuGenerators(const CpuGenerators&) = delete;
  CpuGenerators& operator=(const CpuGenerators&) = delete;

  // Stores the states after the call.
  void Update() {
    for (Pair& each : pairs_) each.own.set_state(each.cpu.get_state());
  }

 private:
  // Other threads draw from the generator before or after the call.
  struct Pair {
    at::Generator own;
    at::Generator cpu;
    std::unique_lock<std::mutex> lock;
  };

  static bool IsOptionalGenerator(const c10::Type& type) {
    return type.kind() == c10::TypeKind::OptionalType &&
           type.containedType(0)->kind() == c10::TypeKind::GeneratorType;
  }

  void Replace(c10::IValue& value, at::Generator own) {
    at::Generator cpu = at::make_generator<at::CPUGeneratorImpl>();
    std::unique_lock<std::mutex> lock(own.mutex());
    cpu.set_state(own.get_state());
    value = cpu;
    pairs_.push_back({std::move(own), std::move(cpu), std::move(lock)});
  }

  std::vector<Pair> pairs_;
};

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
           "convolution_backward",
           "native_batch_norm",
           "native_batch_norm_backward",
           "native_group_norm",
           "native_group_norm_backward",
           "embedding_dense_backward",
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
