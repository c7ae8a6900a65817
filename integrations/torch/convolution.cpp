// Convolutions, and their gradients, which are composed of operators that Vulkan kernels compute.
#include <torch/library.h>

#include <array>
#include <utility>
#include <vector>

#include "integrations/torch/composition.h"
#include "integrations/torch/runtime_call.h"

namespace spirloom::pytorch {
namespace {

using Mask = std::array<bool, 3>;

// The sizes and strides of a 2-D convolution.
struct Window {
  std::vector<int64_t> kernel;
  std::vector<int64_t> stride;
  std::vector<int64_t> padding;
  std::vector<int64_t> dilation;
};

// The number of positions of a window in dimension d of an image, from 0.
int64_t Positions(const at::Tensor& image, const Window& window, size_t d) {
  const int64_t size = image.size(static_cast<int64_t>(d) + 2) + 2 * window.padding[d];
  return (size - window.dilation[d] * (window.kernel[d] - 1) - 1) / window.stride[d] + 1;
}

// The sum over images and positions of `small`, [N, A, h, w], times the windows of `large` at these
// positions, in groups of channels: [A, B / groups, kernel].
at::Tensor WindowProducts(const at::Tensor& small, const at::Tensor& large, const Window& window,
                          int64_t groups) {
  const int64_t images = small.size(0);
  // With output padding, the windows of a transposed convolution have further positions.
  const at::Tensor windows =
      at::im2col(large, window.kernel, window.dilation, window.padding, window.stride)
          .reshape({images, -1, Positions(large, window, 0), Positions(large, window, 1)})
          .narrow(2, 0, small.size(2))
          .narrow(3, 0, small.size(3));
  const int64_t positions = small.size(2) * small.size(3);
  const at::Tensor left = small.reshape({images, groups, -1, positions}).permute({1, 2, 0, 3});
  const at::Tensor right = windows.reshape({images, groups, -1, positions}).permute({1, 0, 3, 2});
  const at::Tensor products = at::bmm(left.reshape({groups, -1, images * positions}),
                                      right.reshape({groups, images * positions, -1}));
  return products.reshape(
      {small.size(1), large.size(1) / groups, window.kernel[0], window.kernel[1]});
}

// The output padding of the transposed convolution that has `input`'s size.
std::vector<int64_t> OutputPadding(const at::Tensor& gradient, const at::Tensor& input,
                                   const Window& window) {
  std::vector<int64_t> padding;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    const auto dim = static_cast<int64_t>(d) + 2;
    const int64_t size = (gradient.size(dim) - 1) * window.stride[d] - 2 * window.padding[d] +
                         window.dilation[d] * (window.kernel[d] - 1) + 1;
    padding.push_back(input.size(dim) - size);
  }
  return padding;
}

ThreeTensors Gradients2d(const at::Tensor& gradient, const at::Tensor& input,
                         const at::Tensor& weight, const Window& window, bool transposed,
                         int64_t groups, Mask mask) {
  ThreeTensors gradients;
  if (mask[0]) {
    const std::vector<int64_t> none = {0, 0};
    std::get<0>(gradients) = at::convolution(
        gradient, weight, {}, window.stride, window.padding, window.dilation, !transposed,
        transposed ? none : OutputPadding(gradient, input, window), groups);
    if (transposed) {
      at::Tensor& result = std::get<0>(gradients);
      result = result.narrow(2, 0, input.size(2)).narrow(3, 0, input.size(3));
    }
  }
  if (mask[1]) {
    std::get<1>(gradients) = transposed ? WindowProducts(input, gradient, window, groups)
                                        : WindowProducts(gradient, input, window, groups);
  }
  if (mask[2]) std::get<2>(gradients) = gradient.sum({0, 2, 3});
  return gradients;
}

std::vector<int64_t> With(int64_t first, at::IntArrayRef rest, bool is_1d) {
  std::vector<int64_t> all = rest.vec();
  if (rest.size() == 1 && !is_1d) all.push_back(rest[0]);
  if (is_1d) all.insert(all.begin(), first);
  return all;
}

// Of 1-D and 2-D convolutions; a 1-D one is 2-D with one row.
ThreeTensors ConvolutionBackward(const at::Tensor& gradient, const at::Tensor& input,
                                 const at::Tensor& weight, at::OptionalIntArrayRef bias_sizes,
                                 at::IntArrayRef stride, at::IntArrayRef padding,
                                 at::IntArrayRef dilation, bool transposed,
                                 at::IntArrayRef output_padding, int64_t groups, Mask mask) {
  const bool is_1d = weight.dim() == 3;
  if (!AreComputed({gradient, input, weight}) || (weight.dim() != 4 && !is_1d)) {
    return OnCpu<ATEN_OP(convolution_backward)>(gradient, input, weight, bias_sizes, stride,
                                                padding, dilation, transposed, output_padding,
                                                groups, mask);
  }
  const auto planar = [&](const at::Tensor& tensor) {
    return is_1d ? tensor.unsqueeze(2) : tensor;
  };
  const at::Tensor filters = planar(weight);
  const Window window{filters.sizes().slice(2).vec(), With(1, stride, is_1d),
                      With(0, padding, is_1d), With(1, dilation, is_1d)};
  ThreeTensors gradients =
      Gradients2d(planar(gradient), planar(input), filters, window, transposed, groups, mask);
  if (is_1d && mask[0]) std::get<0>(gradients) = std::get<0>(gradients).squeeze(2);
  if (is_1d && mask[1]) std::get<1>(gradients) = std::get<1>(gradients).squeeze(2);
  return gradients;
}

// The runtime's operators by the number of dimensions.
constexpr const char* kForward[] = {"aten.conv1d", "aten.convolution", "aten.conv3d"};
constexpr const char* kTransposed[] = {"aten.conv_transpose1d", "aten.conv_transpose2d.input",
                                       "aten.conv_transpose3d.input"};

// None if no kernel supports the call.
MaybeTensor RunConvolution(const at::Tensor& input, const at::Tensor& weight,
                           const at::Tensor& bias, const Window& window, bool transposed,
                           const std::vector<int64_t>& output_padding, int64_t groups) {
  const size_t dims = window.stride.size();
  RuntimeCall call((transposed ? kTransposed : kForward)[dims - 1]);
  call.Tensor(input).Tensor(weight).Tensor(bias).Ints(window.stride).Ints(window.padding);
  if (transposed) {
    call.Ints(output_padding).Int(groups).Ints(window.dilation);
  } else if (dims == 2) {
    call.Ints(window.dilation).Bool(false).Ints(output_padding).Int(groups);
  } else {
    call.Ints(window.dilation).Int(groups);
  }
  if (dims == 2 && !transposed) {  // without a fused epilogue
    constexpr int64_t kNoActivation = 0;
    call.Int(kNoActivation).Float(0).Float(0).Tensor(at::Tensor());
  }
  return call.Run();
}

at::Tensor Convolution(const at::Tensor& input, const at::Tensor& weight, const MaybeTensor& bias,
                       at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                       bool transposed, at::IntArrayRef output_padding, int64_t groups) {
  const auto dims = static_cast<size_t>(weight.dim()) - 2;
  const bool is_computed = AreComputed({input, weight, ValueOf(bias)}) && dims >= 1 && dims <= 3 &&
                           input.scalar_type() == weight.scalar_type() &&
                           input.dim() == weight.dim();
  if (is_computed) {
    const auto sized = [&](at::IntArrayRef list) {
      return list.size() == 1 ? std::vector<int64_t>(dims, list[0]) : list.vec();
    };
    const Window window{weight.sizes().slice(2).vec(), sized(stride), sized(padding),
                        sized(dilation)};
    // Kernels load and store bfloat16, but do not compute with it.
    const bool is_narrow = input.scalar_type() == at::kBFloat16;
    const MaybeTensor result = RunConvolution(
        is_narrow ? Wide(input) : input, is_narrow ? Wide(weight) : weight,
        is_narrow ? Wide(bias) : ValueOf(bias), window, transposed, sized(output_padding), groups);
    if (result) return As(*result, input);
  }
  return OnCpu<ATEN_OP(convolution)>(input, weight, bias, stride, padding, dilation, transposed,
                                     output_padding, groups);
}

at::Tensor ConvolutionOverrideable(const at::Tensor& input, const at::Tensor& weight,
                                   const MaybeTensor& bias, at::IntArrayRef stride,
                                   at::IntArrayRef padding, at::IntArrayRef dilation,
                                   bool transposed, at::IntArrayRef output_padding,
                                   int64_t groups) {
  return at::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                         groups);
}

ThreeTensors ConvolutionBackwardOverrideable(const at::Tensor& gradient, const at::Tensor& input,
                                             const at::Tensor& weight, at::IntArrayRef stride,
                                             at::IntArrayRef padding, at::IntArrayRef dilation,
                                             bool transposed, at::IntArrayRef output_padding,
                                             int64_t groups, Mask mask) {
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  return at::convolution_backward(gradient, input, weight, at::IntArrayRef(channels), stride,
                                  padding, dilation, transposed, output_padding, groups, mask);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution", Convolution);
  m.impl("convolution_backward", ConvolutionBackward);
  // PyTorch requires these two of devices of other packages.
  m.impl("convolution_overrideable", ConvolutionOverrideable);
  m.impl("convolution_backward_overrideable", ConvolutionBackwardOverrideable);
}

}  // namespace
}  // namespace spirloom::pytorch
