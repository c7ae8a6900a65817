// Views: tensors of other sizes and strides over the same storage. All other views of PyTorch are
// made of these.
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <torch/library.h>

#include <optional>
#include <vector>

namespace spirloom::pytorch {
namespace {

// A view with elements of `type`; `offset` counts these.
at::Tensor MakeView(const at::Tensor& base, at::IntArrayRef size, at::IntArrayRef strides,
                    int64_t offset, c10::ScalarType type) {
  at::Tensor view =
      at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(base.storage()),
                                               base.key_set(), c10::scalarTypeToTypeMeta(type));
  c10::TensorImpl* tensor = view.unsafeGetTensorImpl();
  tensor->set_storage_offset(offset);
  tensor->set_sizes_and_strides(size, strides);
  return view;
}

at::Tensor AsStrided(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef strides,
                     std::optional<int64_t> offset) {
  TORCH_CHECK(size.size() == strides.size(), "as_strided: the number of sizes (", size.size(),
              ") differs from the number of strides (", strides.size(), ").");
  for (const int64_t stride : strides) {
    TORCH_CHECK(stride >= 0,
                "as_strided: Negative strides are not supported, but got strides: ", strides);
  }
  const int64_t first = offset.value_or(self.storage_offset());
  at::native::checkInBoundsForStorage<int64_t>(size, strides, first, self.dtype(), self.storage());
  TORCH_CHECK(first >= 0, "as_strided: the storage offset is ", first, "; expected at least 0.");
  return MakeView(self, size, strides, first, self.scalar_type());
}

at::Tensor View(const at::Tensor& self, at::IntArrayRef size) {
  const at::DimVector inferred = at::infer_size_dv(size, self.numel());
  const auto strides = at::detail::computeStride(self.sizes(), self.strides(), inferred);
  TORCH_CHECK(strides.has_value(),
              "view size is not compatible with input tensor's size and stride (at least one "
              "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
  return MakeView(self, inferred, *strides, self.storage_offset(), self.scalar_type());
}

at::Tensor ReshapeAlias(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef strides) {
  return MakeView(self, size, strides, self.storage_offset(), self.scalar_type());
}

at::Tensor Unfold(const at::Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const int64_t dim = at::maybe_wrap_dim(dimension, self.dim(), /*wrap_scalar=*/true);
  const int64_t length = self.dim() == 0 ? 1 : self.size(dim);
  TORCH_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  TORCH_CHECK(size <= length, "maximum size for tensor at dimension ", dim, " is ", length,
              " but size is ", size);
  TORCH_CHECK(step > 0, "step is ", step, " but must be > 0");
  std::vector<int64_t> sizes = self.sizes().vec();
  std::vector<int64_t> strides = self.strides().vec();
  sizes.push_back(size);
  strides.push_back(self.dim() == 0 ? 1 : self.stride(dim));
  if (self.dim() > 0) {
    const auto index = static_cast<size_t>(dim);
    sizes[index] = (length - size) / step + 1;
    strides[index] *= step;
  }
  return MakeView(self, sizes, strides, self.storage_offset(), self.scalar_type());
}

at::Tensor ViewAsReal(const at::Tensor& self) {
  TORCH_CHECK(self.is_complex(), "view_as_real is only supported for complex tensors");
  TORCH_CHECK(!self.is_conj(),
              "view_as_real doesn't work on unresolved conjugated tensors. To resolve the "
              "conjugate tensor so you can view it as real, use self.resolve_conj().");
  std::vector<int64_t> sizes = self.sizes().vec();
  std::vector<int64_t> strides = self.strides().vec();
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return MakeView(self, sizes, strides, 2 * self.storage_offset(),
                  c10::toRealValueType(self.scalar_type()));
}

at::Tensor ViewAsComplex(const at::Tensor& self) {
  TORCH_CHECK(self.is_floating_point(),
              "view_as_complex is only supported for floating point tensors, but got a tensor of "
              "scalar type: ",
              self.scalar_type());
  TORCH_CHECK(self.dim() > 0, "Input tensor must have one or more dimensions");
  TORCH_CHECK(self.size(-1) == 2, "Tensor must have a last dimension of size 2");
  TORCH_CHECK(self.stride(-1) == 1, "Tensor must have a last dimension with stride 1");
  TORCH_CHECK(self.storage_offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  std::vector<int64_t> sizes = self.sizes().vec();
  std::vector<int64_t> strides = self.strides().vec();
  sizes.pop_back();
  strides.pop_back();
  for (int64_t& stride : strides) {
    TORCH_CHECK(stride % 2 == 0,
                "Tensor must have a stride divisible by 2 for all but last dimension");
    stride /= 2;
  }
  return MakeView(self, sizes, strides, self.storage_offset() / 2,
                  c10::toComplexType(self.scalar_type()));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("as_strided", AsStrided);
  m.impl("view", View);
  m.impl("_reshape_alias", ReshapeAlias);
  m.impl("unfold", Unfold);
  m.impl("view_as_real", ViewAsReal);
  m.impl("view_as_complex", ViewAsComplex);
}

}  // namespace
}  // namespace spirloom::pytorch
