// Gradients of maximum pooling, composed of operators that Vulkan kernels compute: each gradient is
// added to the element that its index names.
#include <torch/library.h>

#include <vector>

#include "integrations/torch/composition.h"

namespace spirloom::pytorch {
namespace {

// Indices count the elements of the last `dims` dimensions of `self`.
at::Tensor AddAtIndices(const at::Tensor& gradient, const at::Tensor& self,
                        const at::Tensor& indices, size_t dims) {
  int64_t size = 1;
  for (size_t d = 1; d <= dims; ++d) size *= self.size(-static_cast<int64_t>(d));
  const std::vector<int64_t> rows = {self.numel() / size, -1};
  const at::Tensor zeros = at::zeros({self.numel() / size, size}, self.options().dtype(at::kFloat));
  const at::Tensor sums = zeros.scatter_add(1, indices.reshape(rows), Wide(gradient).reshape(rows));
  return As(sums.reshape(self.sizes()), self);
}

template <typename Op, size_t kDims>
at::Tensor MaxPoolBackward(const at::Tensor& gradient, const at::Tensor& self,
                           at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                           at::IntArrayRef dilation, bool ceil_mode, const at::Tensor& indices) {
  if (!AreComputed({gradient, self})) {
    return OnCpu<Op>(gradient, self, kernel, stride, padding, dilation, ceil_mode, indices);
  }
  return AddAtIndices(gradient, self, indices, kDims);
}

template <typename Op, size_t kDims>
at::Tensor AdaptiveMaxPoolBackward(const at::Tensor& gradient, const at::Tensor& self,
                                   const at::Tensor& indices) {
  if (!AreComputed({gradient, self})) return OnCpu<Op>(gradient, self, indices);
  return AddAtIndices(gradient, self, indices, kDims);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("max_pool2d_with_indices_backward",
         MaxPoolBackward<ATEN_OP(max_pool2d_with_indices_backward), 2>);
  m.impl("max_pool3d_with_indices_backward",
         MaxPoolBackward<ATEN_OP(max_pool3d_with_indices_backward), 3>);
  m.impl("adaptive_max_pool2d_backward",
         AdaptiveMaxPoolBackward<ATEN_OP(adaptive_max_pool2d_backward), 2>);
  m.impl("adaptive_max_pool3d_backward",
         AdaptiveMaxPoolBackward<ATEN_OP(adaptive_max_pool3d_backward), 3>);
}

}  // namespace
}  // namespace spirloom::pytorch
