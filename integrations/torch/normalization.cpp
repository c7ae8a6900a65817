// Normalizations with the statistics that their gradients need, and the gradients, composed of
// operators that Vulkan kernels compute. Where no gradient is required, one kernel computes them
// (kernels.cpp).
#include <torch/library.h>

#include <array>
#include <vector>

#include "integrations/torch/composition.h"

namespace spirloom::pytorch {
namespace {

using Mask = std::array<bool, 3>;

// The dimensions from `first` up to, but excluding, `end`.
std::vector<int64_t> Dimensions(int64_t first, int64_t end) {
  std::vector<int64_t> dims;
  for (int64_t d = first; d < end; ++d) dims.push_back(d);
  return dims;
}

// The sum over dimensions; without dimensions, the tensor, where sum() would add all elements.
at::Tensor SumOf(const at::Tensor& x, const std::vector<int64_t>& dims) {
  return dims.empty() ? x : x.sum(dims);
}

// x normalized to mean 0 and variance 1 over dimensions, the mean, and 1 / sqrt(var + eps).
ThreeTensors Normalize(const at::Tensor& x, const std::vector<int64_t>& dims, double eps) {
  const at::Tensor mean = x.mean(dims, /*keepdim=*/true);
  const at::Tensor centered = x - mean;
  const at::Tensor rstd = ((centered * centered).mean(dims, /*keepdim=*/true) + eps).rsqrt();
  return {centered * rstd, mean, rstd};
}

// The gradient of x, where `scaled` is the normalized x, and `gradient` that of `scaled`.
at::Tensor NormalizeBackward(const at::Tensor& gradient, const at::Tensor& scaled,
                             const at::Tensor& rstd, const std::vector<int64_t>& dims) {
  const at::Tensor along = (gradient * scaled).mean(dims, /*keepdim=*/true);
  return (gradient - gradient.mean(dims, /*keepdim=*/true) - scaled * along) * rstd;
}

at::Tensor Affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor scaled = weight.defined() ? x * weight : x;
  return bias.defined() ? scaled + bias : scaled;
}

// ---- Layer normalization

ThreeTensors LayerNorm(const at::Tensor& self, at::IntArrayRef normalized,
                       const MaybeTensor& weight, const MaybeTensor& bias, double eps) {
  if (!AreComputed({self, ValueOf(weight), ValueOf(bias)})) {
    return OnCpu<ATEN_OP(native_layer_norm)>(self, normalized, weight, bias, eps);
  }
  TORCH_CHECK(
      static_cast<size_t>(self.dim()) >= normalized.size() &&
          self.sizes().slice(static_cast<size_t>(self.dim()) - normalized.size()) == normalized,
      "Given normalized_shape=", normalized, ", expected input with shape [*, ", normalized,
      "], but got input of size", self.sizes());
  const int64_t first = self.dim() - static_cast<int64_t>(normalized.size());
  const auto [scaled, mean, rstd] = Normalize(Wide(self), Dimensions(first, self.dim()), eps);
  return {As(Affine(scaled, Wide(weight), Wide(bias)), self), As(mean, self), As(rstd, self)};
}

ThreeTensors LayerNormBackward(const at::Tensor& gradient, const at::Tensor& self,
                               at::IntArrayRef normalized, const at::Tensor& mean,
                               const at::Tensor& rstd, const MaybeTensor& weight,
                               const MaybeTensor& bias, Mask mask) {
  if (!AreComputed({gradient, self, mean, rstd, ValueOf(weight)})) {
    return OnCpu<ATEN_OP(native_layer_norm_backward)>(gradient, self, normalized, mean, rstd,
                                                      weight, bias, mask);
  }
  const int64_t first = self.dim() - static_cast<int64_t>(normalized.size());
  const std::vector<int64_t> outer = Dimensions(0, first);
  const at::Tensor wide = Wide(gradient);
  const at::Tensor scale = Wide(rstd);
  const at::Tensor scaled = (Wide(self) - Wide(mean)) * scale;
  ThreeTensors gradients;
  if (mask[0]) {
    const at::Tensor weighted = ValueOf(weight).defined() ? wide * Wide(weight) : wide;
    std::get<0>(gradients) =
        As(NormalizeBackward(weighted, scaled, scale, Dimensions(first, self.dim())), self);
  }
  if (mask[1]) std::get<1>(gradients) = As(SumOf(wide * scaled, outer), gradient);
  if (mask[2]) std::get<2>(gradients) = As(SumOf(wide, outer), gradient);
  return gradients;
}

// ---- Batch normalization

// A vector of channels, broadcast to x.
at::Tensor PerChannel(const at::Tensor& vector, const at::Tensor& x) {
  if (!vector.defined()) return vector;
  std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = -1;
  return vector.reshape(sizes);
}

std::vector<int64_t> AllButChannels(const at::Tensor& x) {
  std::vector<int64_t> dims = Dimensions(0, x.dim());
  dims.erase(dims.begin() + 1);
  return dims;
}

void UpdateRunning(const MaybeTensor& running, const at::Tensor& value, double momentum) {
  if (!ValueOf(running).defined()) return;
  at::Tensor target = *running;
  target.copy_(Wide(target) * (1 - momentum) + value * momentum);
}

// Of a batch: the result, the mean and 1 / sqrt(var + eps), and updates of the running statistics.
ThreeTensors BatchNormOfBatch(const at::Tensor& self, const MaybeTensor& weight,
                              const MaybeTensor& bias, const MaybeTensor& running_mean,
                              const MaybeTensor& running_var, double momentum, double eps) {
  const at::Tensor x = Wide(self);
  const auto [scaled, mean, rstd] = Normalize(x, AllButChannels(x), eps);
  const at::Tensor result = Affine(scaled, PerChannel(Wide(weight), x), PerChannel(Wide(bias), x));
  const at::Tensor channel_mean = mean.reshape({-1});
  const at::Tensor channel_rstd = rstd.reshape({-1});
  const auto count = static_cast<double>(x.numel() / x.size(1));
  UpdateRunning(running_mean, channel_mean, momentum);
  UpdateRunning(running_var, (channel_rstd.pow(-2) - eps) * (count / (count - 1)), momentum);
  const at::Tensor& like = ValueOf(weight).defined() ? *weight : self;
  return {As(result, self), As(channel_mean, like), As(channel_rstd, like)};
}

ThreeTensors BatchNorm(const at::Tensor& self, const MaybeTensor& weight, const MaybeTensor& bias,
                       const MaybeTensor& running_mean, const MaybeTensor& running_var,
                       bool training, double momentum, double eps) {
  const at::Tensor mean = ValueOf(running_mean);
  const at::Tensor var = ValueOf(running_var);
  if (!AreComputed({self, ValueOf(weight), ValueOf(bias), mean, var}) || self.dim() < 2) {
    return OnCpu<ATEN_OP(native_batch_norm)>(self, weight, bias, running_mean, running_var,
                                             training, momentum, eps);
  }
  if (training) {
    return BatchNormOfBatch(self, weight, bias, running_mean, running_var, momentum, eps);
  }
  const at::Tensor x = Wide(self);
  const at::Tensor scale = (Wide(var) + eps).rsqrt();
  const at::Tensor weighted = ValueOf(weight).defined() ? scale * Wide(weight) : scale;
  const at::Tensor shift =
      Wide(bias).defined() ? Wide(bias) - Wide(mean) * weighted : Wide(mean) * weighted * -1;
  const at::Tensor none = at::empty({0}, (ValueOf(weight).defined() ? *weight : self).options());
  return {As(x * PerChannel(weighted, x) + PerChannel(shift, x), self), none, none};
}

ThreeTensors BatchNormBackward(const at::Tensor& gradient, const at::Tensor& self,
                               const MaybeTensor& weight, const MaybeTensor& running_mean,
                               const MaybeTensor& running_var, const MaybeTensor& save_mean,
                               const MaybeTensor& save_rstd, bool training, double eps, Mask mask) {
  const at::Tensor mean = training ? ValueOf(save_mean) : ValueOf(running_mean);
  const at::Tensor spread = training ? ValueOf(save_rstd) : ValueOf(running_var);
  if (!AreComputed({gradient, self, ValueOf(weight), mean, spread})) {
    return OnCpu<ATEN_OP(native_batch_norm_backward)>(gradient, self, weight, running_mean,
                                                      running_var, save_mean, save_rstd, training,
                                                      eps, mask);
  }
  const at::Tensor x = Wide(self);
  const at::Tensor wide = Wide(gradient);
  const std::vector<int64_t> dims = AllButChannels(x);
  const at::Tensor rstd = PerChannel(training ? Wide(spread) : (Wide(spread) + eps).rsqrt(), x);
  const at::Tensor scaled = (x - PerChannel(Wide(mean), x)) * rstd;
  ThreeTensors gradients;
  if (mask[0]) {
    const at::Tensor factor = PerChannel(Wide(weight), x);
    const at::Tensor weighted = factor.defined() ? wide * factor : wide;
    std::get<0>(gradients) =
        As(training ? NormalizeBackward(weighted, scaled, rstd, dims) : weighted * rstd, self);
  }
  const at::Tensor& like = ValueOf(weight).defined() ? *weight : wide;
  if (mask[1]) std::get<1>(gradients) = As(SumOf(wide * scaled, dims), like);
  if (mask[2]) std::get<2>(gradients) = As(SumOf(wide, dims), like);
  return gradients;
}

// ---- Group normalization

// [N, groups, channels of a group * size of an image]
at::Tensor Grouped(const at::Tensor& x, int64_t n, int64_t groups) {
  return x.reshape({n, groups, -1});
}

ThreeTensors GroupNorm(const at::Tensor& self, const MaybeTensor& weight, const MaybeTensor& bias,
                       int64_t n, int64_t channels, int64_t inner, int64_t groups, double eps) {
  if (!AreComputed({self, ValueOf(weight), ValueOf(bias)})) {
    return OnCpu<ATEN_OP(native_group_norm)>(self, weight, bias, n, channels, inner, groups, eps);
  }
  const at::Tensor x = Wide(self);
  const auto [scaled, mean, rstd] = Normalize(Grouped(x, n, groups), {2}, eps);
  const at::Tensor result =
      Affine(scaled.reshape(x.sizes()), PerChannel(Wide(weight), x), PerChannel(Wide(bias), x));
  return {As(result, self), As(mean.reshape({n, groups}), self),
          As(rstd.reshape({n, groups}), self)};
}

ThreeTensors GroupNormBackward(const at::Tensor& gradient, const at::Tensor& self,
                               const at::Tensor& mean, const at::Tensor& rstd,
                               const MaybeTensor& weight, int64_t n, int64_t channels,
                               int64_t inner, int64_t groups, Mask mask) {
  if (!AreComputed({gradient, self, mean, rstd, ValueOf(weight)})) {
    return OnCpu<ATEN_OP(native_group_norm_backward)>(gradient, self, mean, rstd, weight, n,
                                                      channels, inner, groups, mask);
  }
  const at::Tensor x = Wide(self);
  const at::Tensor wide = Wide(gradient).reshape(x.sizes());
  const at::Tensor scale = Wide(rstd).reshape({n, groups, 1});
  const at::Tensor scaled = (Grouped(x, n, groups) - Wide(mean).reshape({n, groups, 1})) * scale;
  ThreeTensors gradients;
  if (mask[0]) {
    const at::Tensor factor = PerChannel(Wide(weight), x);
    const at::Tensor weighted = Grouped(factor.defined() ? wide * factor : wide, n, groups);
    std::get<0>(gradients) =
        As(NormalizeBackward(weighted, scaled, scale, {2}).reshape(x.sizes()), self);
  }
  const std::vector<int64_t> dims = AllButChannels(x);
  if (mask[1]) std::get<1>(gradients) = As(SumOf(wide * scaled.reshape(x.sizes()), dims), gradient);
  if (mask[2]) std::get<2>(gradients) = As(SumOf(wide, dims), gradient);
  return gradients;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_layer_norm", LayerNorm);
  m.impl("native_layer_norm_backward", LayerNormBackward);
  m.impl("native_batch_norm", BatchNorm);
  m.impl("native_batch_norm_backward", BatchNormBackward);
  m.impl("native_group_norm", GroupNorm);
  m.impl("native_group_norm_backward", GroupNormBackward);
}

}  // namespace
}  // namespace spirloom::pytorch
