#include "integrations/torch/fallback.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "integrations/torch/cpu_generators.h"
#include "integrations/torch/device.h"

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

// Whether `functional` has the arguments of `out` without its results.
bool IsFunctionalOf(const c10::FunctionSchema& functional, const c10::FunctionSchema& out) {
  const size_t results = out.returns().size();
  const size_t count = functional.arguments().size();
  if (functional.is_mutable() || functional.returns().size() != results) return false;
  if (out.arguments().size() != count + results) return false;
  for (size_t i = 0; i < count; ++i) {
    if (functional.arguments()[i].name() != out.arguments()[i].name()) return false;
    if (*functional.arguments()[i].type() != *out.arguments()[i].type()) return false;
  }
  return std::ranges::all_of(c10::ArrayRef(out.arguments()).slice(count),
                             [](const c10::Argument& argument) { return argument.is_out(); });
}

// The overload that returns the results which `op` writes to its last arguments, if the device has
// a kernel of it: "glu_backward" for "glu_backward.grad_input", "mode.dim" for "mode.dim_out".
std::optional<c10::OperatorHandle> FunctionalOf(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  if (schema.arguments().empty() || !schema.arguments().back().is_out()) return std::nullopt;
  constexpr std::string_view kSuffix = "_out";
  std::string overload = schema.overload_name();
  const bool has_suffix = overload.ends_with(kSuffix);
  overload.resize(has_suffix ? overload.size() - kSuffix.size() : 0);
  const auto found = c10::Dispatcher::singleton().findSchema({schema.name(), overload});
  if (!found || !found->hasKernelForDispatchKey(kDispatchKey)) return std::nullopt;
  if (!IsFunctionalOf(found->schema(), schema)) return std::nullopt;
  return found;
}

// Calls `functional`, and copies its results to the last arguments on the stack, which are left as
// the results.
void StoreResults(const c10::OperatorHandle& functional, torch::jit::Stack& stack) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  const size_t count = functional.schema().returns().size();
  std::vector<at::Tensor> targets(count);
  for (size_t i = count; i > 0; --i) targets[i - 1] = torch::jit::pop(stack).toTensor();
  functional.callBoxed(stack);
  const std::vector<c10::IValue> results(stack.end() - static_cast<ptrdiff_t>(count), stack.end());
  torch::jit::drop(stack, count);
  for (size_t i = 0; i < count; ++i) {
    const at::Tensor& result = results[i].toTensor();
    TORCH_CHECK(c10::canCast(result.scalar_type(), targets[i].scalar_type()), "result type ",
                result.scalar_type(), " can't be cast to the desired output type ",
                targets[i].scalar_type());
    at::native::resize_output(targets[i], result.sizes());
    targets[i].copy_(result);
    stack.emplace_back(targets[i]);
  }
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
           "_rowwise_prune",
           "choose_qparams_optimized",
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
  if (const auto functional = FunctionalOf(op)) {
    StoreResults(*functional, *stack);
  } else {
    RunOnCpu(op, stack, "it has no Vulkan kernel");
  }
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
