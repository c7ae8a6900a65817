// What functions share that compose an operator of others, which Vulkan kernels compute.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_COMPOSITION_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_COMPOSITION_H_

#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/native/CPUFallback.h>

#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>

#include "integrations/torch/device.h"
#include "integrations/torch/fallback.h"

namespace spirloom::pytorch {

using MaybeTensor = std::optional<at::Tensor>;
using TwoTensors = std::tuple<at::Tensor, at::Tensor>;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

inline at::Tensor ValueOf(const MaybeTensor& tensor) { return tensor.value_or(at::Tensor()); }

// Whether compositions compute these tensors: of the device, float32, float16 or bfloat16, with
// elements. Undefined ones are left out. Other tensors are for the CPU.
inline bool AreComputed(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    const c10::ScalarType type = tensor.scalar_type();
    const bool is_float = type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
    if (!is_float || tensor.device().type() != kDeviceType || tensor.numel() == 0) return false;
  }
  return true;
}

// The tensor in float32, in which compositions compute: each of their steps would round.
inline at::Tensor Wide(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(at::kFloat) : tensor;
}
inline at::Tensor Wide(const MaybeTensor& tensor) { return Wide(ValueOf(tensor)); }

// A result in the dtype of an argument.
inline at::Tensor As(const at::Tensor& result, const at::Tensor& argument) {
  return result.defined() ? result.to(argument.scalar_type()) : result;
}

// The operator on the CPU, which is counted.
template <typename Op, typename... Arguments>
decltype(auto) OnCpu(Arguments&&... arguments) {
  return at::native::call_fallback_fn<&Fallback, Op>::call(std::forward<Arguments>(arguments)...);
}

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_COMPOSITION_H_
