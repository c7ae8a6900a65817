// Gradients of average pooling and of upsampling, whose results are sums of rows and columns with
// fixed weights: products with one matrix for rows, and one for columns.
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "integrations/torch/composition.h"

namespace spirloom::pytorch {
namespace {

// The weight of each input in each output along a dimension: [outputs, inputs], row by row.
class Weights {
 public:
  Weights(int64_t outputs, int64_t inputs)
      : outputs_(outputs), inputs_(inputs), values_(static_cast<size_t>(outputs * inputs), 0.0F) {}

  void Add(int64_t output, int64_t input, double weight) {
    values_[static_cast<size_t>(output * inputs_ + input)] += static_cast<float>(weight);
  }

  at::Tensor OnDevice(const at::Tensor& like) const {
    const auto options = at::TensorOptions().dtype(at::kFloat);
    return at::from_blob(const_cast<float*>(values_.data()), {outputs_, inputs_}, options)
        .to(like.device());
  }

 private:
  int64_t outputs_;
  int64_t inputs_;
  std::vector<float> values_;
};

// The gradient of the input for [..., h, w] gradients of the output.
at::Tensor Apply(const at::Tensor& gradient, const Weights& rows, const Weights& columns,
                 at::IntArrayRef sizes) {
  const int64_t height = gradient.size(-2);
  const at::Tensor planes = Wide(gradient).reshape({-1, height, gradient.size(-1)});
  const at::Tensor wide = at::matmul(planes, columns.OnDevice(gradient)).transpose(1, 2);
  const at::Tensor result = at::matmul(wide.contiguous(), rows.OnDevice(gradient)).transpose(1, 2);
  return As(result.reshape(sizes), gradient);
}

// ---- Average pooling

Weights AdaptiveWeights(int64_t outputs, int64_t inputs) {
  Weights weights(outputs, inputs);
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t begin = o * inputs / outputs;
    const int64_t end = ((o + 1) * inputs + outputs - 1) / outputs;
    for (int64_t i = begin; i < end; ++i) weights.Add(o, i, 1.0 / static_cast<double>(end - begin));
  }
  return weights;
}

at::Tensor AdaptiveAvgPoolBackward(const at::Tensor& gradient, const at::Tensor& self) {
  if (!AreComputed({gradient, self}))
    return OnCpu<ATEN_OP(_adaptive_avg_pool2d_backward)>(gradient, self);
  return Apply(gradient, AdaptiveWeights(gradient.size(-2), self.size(-2)),
               AdaptiveWeights(gradient.size(-1), self.size(-1)), self.sizes());
}

struct PoolOptions {
  at::IntArrayRef kernel;
  at::IntArrayRef stride;
  at::IntArrayRef padding;
  bool includes_padding;
  bool has_divisor;
};

int64_t At(at::IntArrayRef list, size_t index, at::IntArrayRef otherwise) {
  if (list.empty()) list = otherwise;
  return list.size() == 1 ? list[0] : list[index];
}

Weights PoolWeights(int64_t outputs, int64_t inputs, const PoolOptions& options, size_t d) {
  const int64_t kernel = At(options.kernel, d, {});
  const int64_t stride = At(options.stride, d, options.kernel);
  const int64_t padding = At(options.padding, d, {});
  Weights weights(outputs, inputs);
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t first = o * stride - padding;
    const int64_t padded = std::min(first + kernel, inputs + padding) - first;
    const int64_t begin = std::max<int64_t>(first, 0);
    const int64_t end = std::min(first + kernel, inputs);
    const int64_t count = options.has_divisor ? 1 : options.includes_padding ? padded : end - begin;
    for (int64_t i = begin; i < end; ++i) weights.Add(o, i, 1.0 / static_cast<double>(count));
  }
  return weights;
}

at::Tensor AvgPoolBackward(const at::Tensor& gradient, const at::Tensor& self,
                           at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                           bool ceil_mode, bool includes_padding, std::optional<int64_t> divisor) {
  if (!AreComputed({gradient, self})) {
    return OnCpu<ATEN_OP(avg_pool2d_backward)>(gradient, self, kernel, stride, padding, ceil_mode,
                                               includes_padding, divisor);
  }
  const PoolOptions options{kernel, stride, padding, includes_padding, divisor.has_value()};
  const at::Tensor scaled = divisor ? gradient / *divisor : gradient;
  return Apply(scaled, PoolWeights(gradient.size(-2), self.size(-2), options, 0),
               PoolWeights(gradient.size(-1), self.size(-1), options, 1), self.sizes());
}

// ---- Upsampling

// PyTorch computes the coordinates in float32.
float ScaleOf(int64_t outputs, int64_t inputs, std::optional<double> scale) {
  if (scale && *scale > 0) return static_cast<float>(1.0 / *scale);
  return static_cast<float>(inputs) / static_cast<float>(outputs);
}

Weights NearestWeights(int64_t outputs, int64_t inputs, std::optional<double> scale) {
  Weights weights(outputs, inputs);
  const float ratio = ScaleOf(outputs, inputs, scale);
  for (int64_t o = 0; o < outputs; ++o) {
    const auto source = static_cast<int64_t>(std::floor(static_cast<float>(o) * ratio));
    weights.Add(o, std::min(source, inputs - 1), 1);
  }
  return weights;
}

Weights LinearWeights(int64_t outputs, int64_t inputs, std::optional<double> scale,
                      bool align_corners) {
  Weights weights(outputs, inputs);
  const float ratio = ScaleOf(outputs, inputs, scale);
  const float aligned =
      outputs > 1 ? static_cast<float>(inputs - 1) / static_cast<float>(outputs - 1) : 0.0F;
  for (int64_t o = 0; o < outputs; ++o) {
    const auto position = static_cast<float>(o);
    const float source =
        align_corners ? position * aligned : std::max((position + 0.5F) * ratio - 0.5F, 0.0F);
    const int64_t low = std::min(static_cast<int64_t>(source), inputs - 1);
    const float fraction = std::min(source - static_cast<float>(low), 1.0F);
    weights.Add(o, low, 1 - fraction);
    weights.Add(o, std::min(low + 1, inputs - 1), fraction);
  }
  return weights;
}

at::Tensor NearestBackward(const at::Tensor& gradient, at::IntArrayRef output_size,
                           at::IntArrayRef input_size, std::optional<double> height,
                           std::optional<double> width) {
  if (!AreComputed({gradient})) {
    return OnCpu<ATEN_OP(upsample_nearest2d_backward)>(gradient, output_size, input_size, height,
                                                       width);
  }
  return Apply(gradient, NearestWeights(output_size[0], input_size[2], height),
               NearestWeights(output_size[1], input_size[3], width), input_size);
}

at::Tensor BilinearBackward(const at::Tensor& gradient, at::IntArrayRef output_size,
                            at::IntArrayRef input_size, bool align_corners,
                            std::optional<double> height, std::optional<double> width) {
  if (!AreComputed({gradient})) {
    return OnCpu<ATEN_OP(upsample_bilinear2d_backward)>(gradient, output_size, input_size,
                                                        align_corners, height, width);
  }
  return Apply(gradient, LinearWeights(output_size[0], input_size[2], height, align_corners),
               LinearWeights(output_size[1], input_size[3], width, align_corners), input_size);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_adaptive_avg_pool2d_backward", AdaptiveAvgPoolBackward);
  m.impl("avg_pool2d_backward", AvgPoolBackward);
  m.impl("upsample_nearest2d_backward", NearestBackward);
  m.impl("upsample_bilinear2d_backward", BilinearBackward);
}

}  // namespace
}  // namespace spirloom::pytorch
