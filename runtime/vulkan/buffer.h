#ifndef SPIRLOOM_RUNTIME_VULKAN_BUFFER_H_
#define SPIRLOOM_RUNTIME_VULKAN_BUFFER_H_

#include <cstddef>

#include "runtime/pack/pack_format.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/memory.h"

namespace spirloom::vulkan {

// A storage, texel and transfer buffer, with its own memory or at an offset into shared memory.
// Freed on destruction; the GPU must be done with it.
class Buffer {
 public:
  // A buffer of `size` > 0 bytes with memory of its own. Fails with kOutOfMemory, naming the size.
  static Result<Buffer> Create(const Device& device, VkDeviceSize size, MemoryUse use);
  // A buffer without memory; Bind() comes next. `margin` bytes, a multiple of
  // minStorageBufferOffsetAlignment and minTexelBufferOffsetAlignment, lie unused on both sides of
  // it in its VkBuffer.
  static Result<Buffer> CreateUnbound(const Device& device, VkDeviceSize size,
                                      VkDeviceSize margin = 0);

  // Puts the buffer at `offset` of `memory`, which must outlive its use; `offset` is a multiple of
  // requirements().alignment.
  Status Bind(const DeviceMemory& memory, VkDeviceSize offset);

  const Device& device() const { return handle_.device(); }
  VkBuffer handle() const { return handle_.get(); }
  // Where byte 0 lies in the VkBuffer.
  VkDeviceSize offset() const { return margin_; }
  VkDeviceSize size() const { return size_; }
  const VkMemoryRequirements& requirements() const { return requirements_; }
  // The host's view of byte 0; null for device-only memory.
  std::byte* mapped() const { return mapped_; }

 private:
  friend class BufferView;
  Buffer() = default;

  DeviceMemory memory_;  // empty when the memory is shared
  DeviceHandle<VkBuffer, &DeviceFunctions::vkDestroyBuffer> handle_;
  VkDeviceSize size_ = 0;
  VkDeviceSize margin_ = 0;
  VkDeviceSize vulkan_size_ = 0;  // of the VkBuffer
  VkMemoryRequirements requirements_{};
  std::byte* mapped_ = nullptr;
};

// A buffer that kernels read as texels. Freed on destruction; the GPU must be done with it.
class BufferView {
 public:
  // `size` bytes of `buffer` from `offset` on, both multiples of 16, in texels of `type`; of a
  // whole buffer up to kTexelSlack more. The buffer has memory and outlives the view.
  static Result<BufferView> Create(const Buffer& buffer, VkDeviceSize offset, VkDeviceSize size,
                                   pack::BindingType type);

  VkBufferView handle() const { return handle_.get(); }

 private:
  BufferView() = default;
  DeviceHandle<VkBufferView, &DeviceFunctions::vkDestroyBufferView> handle_;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_BUFFER_H_
