// Tensors without contents, and the parts of PyTorch's older Vulkan backend that its C++ interface
// still has: at::kVulkan and is_vulkan_available().
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <optional>

#include "integrations/torch/allocator.h"
#include "integrations/torch/device.h"

namespace spirloom::pytorch {
namespace {

constexpr c10::DispatchKeySet kKeys(kDispatchKey);

void CheckOptions(std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == at::kStrided, "Tensors of layout ",
                              c10::layout_or_default(layout),
                              " are not supported on the device 'vulkan'. Use strided tensors.");
  TORCH_CHECK(!pin_memory.value_or(false),
              "Only tensors on the CPU can be in pinned memory, not on 'vulkan'.");
}

void SelectDevice(std::optional<at::Device> device) {
  if (device) c10::impl::getDeviceGuardImpl(kDeviceType)->setDevice({kDeviceType, device->index()});
}

at::Tensor Empty(at::IntArrayRef size, std::optional<at::ScalarType> type,
                 std::optional<at::Layout> layout, std::optional<at::Device> device,
                 std::optional<bool> pin_memory, std::optional<at::MemoryFormat> format) {
  CheckOptions(layout, pin_memory);
  SelectDevice(device);
  return at::detail::empty_generic(size, DeviceMemory(), kKeys, c10::dtype_or_default(type),
                                   format);
}

at::Tensor EmptyStrided(at::IntArrayRef size, at::IntArrayRef strides,
                        std::optional<at::ScalarType> type, std::optional<at::Layout> layout,
                        std::optional<at::Device> device, std::optional<bool> pin_memory) {
  CheckOptions(layout, pin_memory);
  SelectDevice(device);
  return at::detail::empty_strided_generic(size, strides, DeviceMemory(), kKeys,
                                           c10::dtype_or_default(type));
}

// Memory is used again in the order of commands, whichever stream of PyTorch they belong to.
void RecordStream(at::Tensor& /*self*/, at::Stream /*stream*/) {}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", Empty);
  m.impl("empty_strided", EmptyStrided);
  m.impl("record_stream", RecordStream);
}

// at::rand({2, 3}, at::kVulkan) makes a tensor of this device.
TORCH_LIBRARY_IMPL(aten, Vulkan, m) {
  m.impl("empty.memory_format", Empty);
  m.impl("empty_strided", EmptyStrided);
}

// An operator without tensors is dispatched to this key first.
TORCH_LIBRARY_IMPL(aten, BackendSelect, m) {
  m.impl("is_vulkan_available", []() -> bool { return IsAvailable(); });
}

}  // namespace
}  // namespace spirloom::pytorch
