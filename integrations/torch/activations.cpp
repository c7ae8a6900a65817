// Gradients of activations, composed of operators that Vulkan kernels compute.
#include <torch/library.h>

#include <limits>
#include <numbers>
#include <optional>

#include "integrations/torch/composition.h"

namespace spirloom::pytorch {
namespace {

at::Tensor ThresholdBackward(const at::Tensor& gradient, const at::Tensor& self,
                             const at::Scalar& threshold) {
  if (!AreComputed({gradient, self}))
    return OnCpu<ATEN_OP(threshold_backward)>(gradient, self, threshold);
  return at::where(self.le(threshold), 0.0, gradient);  // NaN passes the gradient
}

at::Tensor TanhBackward(const at::Tensor& gradient, const at::Tensor& output) {
  if (!AreComputed({gradient, output})) return OnCpu<ATEN_OP(tanh_backward)>(gradient, output);
  const at::Tensor y = Wide(output);
  return As(Wide(gradient) * (1 - y * y), gradient);
}

at::Tensor SigmoidBackward(const at::Tensor& gradient, const at::Tensor& output) {
  if (!AreComputed({gradient, output})) return OnCpu<ATEN_OP(sigmoid_backward)>(gradient, output);
  const at::Tensor y = Wide(output);
  return As(Wide(gradient) * (y * (1 - y)), gradient);
}

// The derivative of gelu().
at::Tensor GeluSlope(const at::Tensor& x, bool is_tanh) {
  constexpr double kHalfSqrt2 = std::numbers::sqrt2 / 2;
  if (!is_tanh) {
    const at::Tensor distribution = (x * kHalfSqrt2).erf() * 0.5 + 0.5;
    const at::Tensor density = (x * x * -0.5).exp() * (kHalfSqrt2 * std::numbers::inv_sqrtpi);
    return distribution + x * density;
  }
  constexpr double kCubic = 0.044715;
  constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const at::Tensor square = x * x;
  const at::Tensor tanh = (x * (square * kCubic + 1) * kScale).tanh();
  const at::Tensor slope = (square * (3 * kCubic) + 1) * kScale;
  return (tanh + 1) * 0.5 + x * 0.5 * (1 - tanh * tanh) * slope;
}

at::Tensor GeluBackward(const at::Tensor& gradient, const at::Tensor& x,
                        c10::string_view approximate) {
  if (!AreComputed({gradient, x})) {
    return OnCpu<ATEN_OP(gelu_backward)>(gradient, x, approximate);
  }
  return As(Wide(gradient) * GeluSlope(Wide(x), approximate == "tanh"), gradient);
}

at::Tensor HardswishBackward(const at::Tensor& gradient, const at::Tensor& self) {
  if (!AreComputed({gradient, self})) return OnCpu<ATEN_OP(hardswish_backward)>(gradient, self);
  const at::Tensor x = Wide(self);
  const at::Tensor wide = Wide(gradient);
  const at::Tensor inner = at::where(x.le(3), wide * (x / 3 + 0.5), wide);
  return As(at::where(x.lt(-3), 0.0, inner), gradient);
}

at::Tensor HardsigmoidBackward(const at::Tensor& gradient, const at::Tensor& self) {
  if (!AreComputed({gradient, self})) return OnCpu<ATEN_OP(hardsigmoid_backward)>(gradient, self);
  const at::Tensor is_inside = self.gt(-3).logical_and(self.lt(3));
  return As(at::where(is_inside, Wide(gradient) / 6, 0.0), gradient);
}

at::Tensor HardtanhBackward(const at::Tensor& gradient, const at::Tensor& self,
                            const at::Scalar& min, const at::Scalar& max) {
  if (!AreComputed({gradient, self}))
    return OnCpu<ATEN_OP(hardtanh_backward)>(gradient, self, min, max);
  return at::where(self.le(min).logical_or(self.ge(max)), 0.0, gradient);
}

at::Tensor LeakyReluBackward(const at::Tensor& gradient, const at::Tensor& self,
                             const at::Scalar& slope, bool is_result) {
  if (!AreComputed({gradient, self}))
    return OnCpu<ATEN_OP(leaky_relu_backward)>(gradient, self, slope, is_result);
  return at::where(self.gt(0), gradient, gradient * slope);
}

at::Tensor EluBackward(const at::Tensor& gradient, const at::Scalar& alpha, const at::Scalar& scale,
                       const at::Scalar& input_scale, bool is_result, const at::Tensor& self) {
  if (!AreComputed({gradient, self})) {
    return OnCpu<ATEN_OP(elu_backward)>(gradient, alpha, scale, input_scale, is_result, self);
  }
  const at::Tensor x = Wide(self);
  const at::Scalar outer = scale.toDouble() * input_scale.toDouble();
  const at::Tensor below = is_result
                               ? (x + alpha.toDouble() * scale.toDouble()) * input_scale
                               : (x * input_scale).exp() * (outer.toDouble() * alpha.toDouble());
  return As(Wide(gradient) * at::where(x.le(0), below, scale), gradient);
}

at::Tensor SoftplusBackward(const at::Tensor& gradient, const at::Tensor& self,
                            const at::Scalar& beta, const at::Scalar& threshold) {
  if (!AreComputed({gradient, self}))
    return OnCpu<ATEN_OP(softplus_backward)>(gradient, self, beta, threshold);
  const at::Tensor scaled = Wide(self) * beta;
  const at::Tensor wide = Wide(gradient);
  return As(at::where(scaled.gt(threshold), wide, wide * scaled.sigmoid()), gradient);
}

// The result, and a buffer that only the CPU's kernel of the gradient reads.
TwoTensors LogSigmoid(const at::Tensor& self) {
  if (!AreComputed({self})) return OnCpu<ATEN_OP(log_sigmoid_forward)>(self);
  const at::Tensor x = Wide(self);
  const at::Tensor y = x.clamp_max(0) - x.abs().neg().exp().log1p();
  return {As(y, self), at::empty({0}, self.options())};
}

at::Tensor LogSigmoidBackward(const at::Tensor& gradient, const at::Tensor& self,
                              const at::Tensor& buffer) {
  if (!AreComputed({gradient, self}))
    return OnCpu<ATEN_OP(log_sigmoid_backward)>(gradient, self, buffer);
  return As(Wide(gradient) * Wide(self).neg().sigmoid(), gradient);
}

at::Tensor GluBackward(const at::Tensor& gradient, const at::Tensor& self, int64_t dim) {
  if (!AreComputed({gradient, self})) return OnCpu<ATEN_OP(glu_backward)>(gradient, self, dim);
  const std::vector<at::Tensor> halves = Wide(self).chunk(2, dim);
  const at::Tensor gate = halves[1].sigmoid();
  const at::Tensor first = Wide(gradient) * gate;
  return As(at::cat({first, first * halves[0] * (1 - gate)}, dim), gradient);
}

TwoTensors PreluBackward(const at::Tensor& gradient, const at::Tensor& self,
                         const at::Tensor& weight) {
  if (!AreComputed({gradient, self, weight}))
    return OnCpu<ATEN_OP(_prelu_kernel_backward)>(gradient, self, weight);
  const at::Tensor is_positive = self.gt(0);
  return {at::where(is_positive, gradient, gradient * weight),
          at::where(is_positive, 0.0, gradient * self)};
}

// 1 / (x * (1 - x)) within (eps, 1 - eps). Without eps, NaN outside of [0, 1], and -inf at -0.
at::Tensor LogitBackward(const at::Tensor& gradient, const at::Tensor& self,
                         std::optional<double> eps) {
  if (!AreComputed({gradient, self})) return OnCpu<ATEN_OP(logit_backward)>(gradient, self, eps);
  const at::Tensor x = Wide(self);
  const at::Tensor inside = Wide(gradient) / (x * (1 - x));
  const double low = eps.value_or(0);
  const double outside = eps ? 0 : std::numeric_limits<double>::quiet_NaN();
  const at::Tensor is_outside = x.lt(low).logical_or(x.gt(1 - low));
  return As(at::where(is_outside, outside, inside), gradient);
}

at::Tensor SoftmaxBackward(const at::Tensor& gradient, const at::Tensor& output, int64_t dim,
                           at::ScalarType type) {
  if (!AreComputed({gradient, output})) {
    return OnCpu<ATEN_OP(_softmax_backward_data)>(gradient, output, dim, type);
  }
  const at::Tensor y = Wide(output);
  const at::Tensor product = Wide(gradient) * y;
  return ((Wide(gradient) - product.sum(dim, /*keepdim=*/true)) * y).to(type);
}

at::Tensor LogSoftmaxBackward(const at::Tensor& gradient, const at::Tensor& output, int64_t dim,
                              at::ScalarType type) {
  if (!AreComputed({gradient, output})) {
    return OnCpu<ATEN_OP(_log_softmax_backward_data)>(gradient, output, dim, type);
  }
  const at::Tensor wide = Wide(gradient);
  return (wide - Wide(output).exp() * wide.sum(dim, /*keepdim=*/true)).to(type);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("threshold_backward", ThresholdBackward);
  m.impl("tanh_backward", TanhBackward);
  m.impl("sigmoid_backward", SigmoidBackward);
  m.impl("gelu_backward", GeluBackward);
  m.impl("hardswish_backward", HardswishBackward);
  m.impl("hardsigmoid_backward", HardsigmoidBackward);
  m.impl("hardtanh_backward", HardtanhBackward);
  m.impl("leaky_relu_backward", LeakyReluBackward);
  m.impl("elu_backward", EluBackward);
  m.impl("softplus_backward", SoftplusBackward);
  m.impl("log_sigmoid_forward", LogSigmoid);
  m.impl("log_sigmoid_backward", LogSigmoidBackward);
  m.impl("glu_backward", GluBackward);
  m.impl("logit_backward", LogitBackward);
  m.impl("_prelu_kernel_backward", PreluBackward);
  m.impl("_softmax_backward_data", SoftmaxBackward);
  m.impl("_log_softmax_backward_data", LogSoftmaxBackward);
}

}  // namespace
}  // namespace spirloom::pytorch
