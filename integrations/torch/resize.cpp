// resize_() and set_(): tensors over other storages, or over storages of other sizes.
#include "integrations/torch/resize.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "integrations/torch/allocator.h"
#include "integrations/torch/device.h"

namespace spirloom::pytorch {

void ResizeStorage(c10::StorageImpl& storage, size_t size) {
  c10::DataPtr data = DeviceMemory()->allocate(size);
  const size_t kept = std::min(size, storage.nbytes());
  if (kept > 0) {
    Call(spirloom_stream_copy, OpenStream(), data.get(), storage.data(), kept);
  }
  storage.set_data_ptr_noswap(std::move(data));
  storage.set_nbytes(size);
}

namespace {

// Allocates memory if the tensor exceeds its storage.
void GrowStorage(const c10::TensorImpl& tensor) {
  if (tensor.numel() == 0) return;
  const size_t required =
      at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize(),
                                       static_cast<size_t>(tensor.storage_offset()));
  c10::StorageImpl* storage = tensor.unsafe_storage().unsafeGetStorageImpl();
  TORCH_CHECK(storage != nullptr, "resize_: the tensor has no storage.");
  if (required > storage->nbytes()) ResizeStorage(*storage, required);
}

const at::Tensor& Resize(const at::Tensor& self, at::IntArrayRef size,
                         std::optional<at::MemoryFormat> format) {
  c10::TensorImpl* tensor = self.unsafeGetTensorImpl();
  if (tensor->sizes() != size) {
    tensor->set_sizes_contiguous(size);
    GrowStorage(*tensor);
  }
  if (format) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format ", *format);
    tensor->empty_tensor_restride(*format);
  }
  return self;
}

at::Tensor& SetStorageAt(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef size,
                         at::IntArrayRef strides) {
  at::native::checkSetStorage(self, std::move(source), offset, size, strides);
  c10::TensorImpl* tensor = self.unsafeGetTensorImpl();
  tensor->set_storage_offset(offset);
  if (strides.data() != nullptr) {  // given, also for rank 0
    tensor->set_sizes_and_strides(size, strides);
  } else {
    tensor->set_sizes_contiguous(size);
  }
  GrowStorage(*tensor);
  return self;
}

at::Tensor& SetStorage(at::Tensor& self, at::Storage source) {
  const auto count = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return SetStorageAt(self, std::move(source), 0, {count}, {});
}

at::Tensor& SetTensor(at::Tensor& self, const at::Tensor& source) {
  if (self.is_same(source)) return self;
  return SetStorageAt(self, source.storage(), source.storage_offset(), source.sizes(),
                      source.strides());
}

at::Tensor& SetEmpty(at::Tensor& self) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, DeviceMemory()->allocate(0),
                       DeviceMemory(), /*resizable=*/true);
  return SetStorageAt(self, std::move(storage), 0, {0}, {});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("resize_", Resize);
  m.impl("set_", SetEmpty);
  m.impl("set_.source_Storage", SetStorage);
  m.impl("set_.source_Storage_storage_offset", SetStorageAt);
  m.impl("set_.source_Tensor", SetTensor);
}

}  // namespace
}  // namespace spirloom::pytorch
