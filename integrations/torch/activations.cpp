// Gradients and layer normalization, composed of operators that Vulkan kernels compute. Their specs
// have fewer results than PyTorch requires, or do not exist.
//
// Each function computes float32 tensors of the device. Others run on the CPU.
#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <array>
#include <initializer_list>
#include <numbers>
#include <optional>
#include <tuple>
#include <vector>

#include "integrations/torch/device.h"
#include "integrations/torch/fallback.h"

namespace spirloom::pytorch {
namespace {

using MaybeTensor = std::optional<at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

bool AreComputed(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    const bool is_computed = tensor.device().type() == kDeviceType &&
                             tensor.scalar_type() == at::kFloat && tensor.numel() > 0;
    if (!is_computed) return false;
  }
  return true;
}

at::Tensor Value(const MaybeTensor& tensor) { return tensor.value_or(at::Tensor()); }

template <typename Op, typename... Arguments>
auto OnCpu(const Arguments&... arguments) {
  return at::native::call_fallback_fn<&Fallback, Op>::call(arguments...);
}

at::Tensor ThresholdBackward(const at::Tensor& gradient, const at::Tensor& self,
                             const at::Scalar& threshold) {
  if (!AreComputed({gradient, self}))
    return OnCpu<ATEN_OP(threshold_backward)>(gradient, self, threshold);
  return at::where(self.le(threshold), 0.0, gradient);  // NaN passes the gradient
}

at::Tensor TanhBackward(const at::Tensor& gradient, const at::Tensor& output) {
  if (!AreComputed({gradient, output})) return OnCpu<ATEN_OP(tanh_backward)>(gradient, output);
  return gradient * (1 - output * output);
}

at::Tensor SigmoidBackward(const at::Tensor& gradient, const at::Tensor& output) {
  if (!AreComputed({gradient, output})) return OnCpu<ATEN_OP(sigmoid_backward)>(gradient, output);
  return gradient * (output * (1 - output));
}

at::Tensor GeluBackward(const at::Tensor& gradient, const at::Tensor& x,
                        c10::string_view approximate) {
  if (!AreComputed({gradient, x})) {
    return OnCpu<ATEN_OP(gelu_backward)>(gradient, x, approximate);
  }
  constexpr double kHalfSqrt2 = std::numbers::sqrt2 / 2;
  if (approximate != "tanh") {
    const at::Tensor distribution = (x * kHalfSqrt2).erf() * 0.5 + 0.5;
    const at::Tensor density = (x * x * -0.5).exp() * (kHalfSqrt2 * std::numbers::inv_sqrtpi);
    return gradient * (distribution + x * density);
  }
  constexpr double kCubic = 0.044715;
  constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const at::Tensor square = x * x;
  const at::Tensor tanh = (x * (square * kCubic + 1) * kScale).tanh();
  const at::Tensor slope = (square * (3 * kCubic) + 1) * kScale;
  return gradient * ((tanh + 1) * 0.5 + x * 0.5 * (1 - tanh * tanh) * slope);
}

at::Tensor SoftmaxBackward(const at::Tensor& gradient, const at::Tensor& output, int64_t dim,
                           at::ScalarType type) {
  if (!AreComputed({gradient, output}) || type != at::kFloat) {
    return OnCpu<ATEN_OP(_softmax_backward_data)>(gradient, output, dim, type);
  }
  const at::Tensor product = gradient * output;
  return product - output * product.sum(dim, /*keepdim=*/true);
}

at::Tensor LogSoftmaxBackward(const at::Tensor& gradient, const at::Tensor& output, int64_t dim,
                              at::ScalarType type) {
  if (!AreComputed({gradient, output}) || type != at::kFloat) {
    return OnCpu<ATEN_OP(_log_softmax_backward_data)>(gradient, output, dim, type);
  }
  return gradient - output.exp() * gradient.sum(dim, /*keepdim=*/true);
}

// The last `count` dimensions of a tensor, or those before.
std::vector<int64_t> LastDimensions(const at::Tensor& tensor, size_t count) {
  std::vector<int64_t> dims(count);
  for (size_t i = 0; i < count; ++i) dims[i] = tensor.dim() - static_cast<int64_t>(i) - 1;
  return dims;
}

std::vector<int64_t> FirstDimensions(const at::Tensor& tensor, size_t last) {
  std::vector<int64_t> dims(static_cast<size_t>(tensor.dim()) - last);
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

// The result, the mean and the reciprocal of the standard deviation.
Three LayerNorm(const at::Tensor& x, at::IntArrayRef normalized, const MaybeTensor& weight,
                const MaybeTensor& bias, double eps) {
  if (!AreComputed({x, Value(weight), Value(bias)})) {
    return OnCpu<ATEN_OP(native_layer_norm)>(x, normalized, weight, bias, eps);
  }
  TORCH_CHECK(static_cast<size_t>(x.dim()) >= normalized.size() &&
                  x.sizes().slice(static_cast<size_t>(x.dim()) - normalized.size()) == normalized,
              "Given normalized_shape=", normalized, ", expected input with shape [*, ", normalized,
              "], but got input of size", x.sizes());
  const std::vector<int64_t> dims = LastDimensions(x, normalized.size());
  const at::Tensor mean = x.mean(dims, /*keepdim=*/true);
  const at::Tensor centered = x - mean;
  const at::Tensor rstd = ((centered * centered).mean(dims, /*keepdim=*/true) + eps).rsqrt();
  at::Tensor result = centered * rstd;
  if (Value(weight).defined()) result = result * *weight;
  if (Value(bias).defined()) result = result + *bias;
  return {result, mean, rstd};
}

// Gradients of the input, the weight and the bias.
Three LayerNormBackward(const at::Tensor& gradient, const at::Tensor& x, at::IntArrayRef normalized,
                        const at::Tensor& mean, const at::Tensor& rstd, const MaybeTensor& weight,
                        const MaybeTensor& bias, std::array<bool, 3> mask) {
  if (!AreComputed({gradient, x, mean, rstd, Value(weight)})) {
    return OnCpu<ATEN_OP(native_layer_norm_backward)>(gradient, x, normalized, mean, rstd, weight,
                                                      bias, mask);
  }
  const std::vector<int64_t> last = LastDimensions(x, normalized.size());
  const std::vector<int64_t> first = FirstDimensions(x, normalized.size());
  const at::Tensor scaled = (x - mean) * rstd;
  const auto summed = [&](const at::Tensor& tensor) {
    return first.empty() ? tensor : tensor.sum(first);
  };
  Three gradients;
  if (mask[0]) {
    const at::Tensor weighted = Value(weight).defined() ? gradient * *weight : gradient;
    const at::Tensor along = (weighted * scaled).mean(last, /*keepdim=*/true);
    std::get<0>(gradients) =
        (weighted - weighted.mean(last, /*keepdim=*/true) - scaled * along) * rstd;
  }
  if (mask[1]) std::get<1>(gradients) = summed(gradient * scaled);
  if (mask[2]) std::get<2>(gradients) = summed(gradient);
  return gradients;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("threshold_backward", ThresholdBackward);
  m.impl("tanh_backward", TanhBackward);
  m.impl("sigmoid_backward", SigmoidBackward);
  m.impl("gelu_backward", GeluBackward);
  m.impl("_softmax_backward_data", SoftmaxBackward);
  m.impl("_log_softmax_backward_data", LogSoftmaxBackward);
  m.impl("native_layer_norm", LayerNorm);
  m.impl("native_layer_norm_backward", LayerNormBackward);
}

}  // namespace
}  // namespace spirloom::pytorch
