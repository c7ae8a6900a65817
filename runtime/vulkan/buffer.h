#ifndef SPIRLOOM_RUNTIME_VULKAN_BUFFER_H_
#define SPIRLOOM_RUNTIME_VULKAN_BUFFER_H_

#include <cstddef>

#include "runtime/pack/pack_format.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/memory.h"

namespace spirloom::vulkan {

// A VkBuffer for storage, texels and transfers, with its own memory or bound to shared memory.
// Destroyed by the destructor; the GPU must have finished using it.
class Buffer {
 public:
  // Creates a buffer of `size` > 0 bytes with its own memory. Fails with kOutOfMemory.
  static Result<Buffer> Create(const Device& device, VkDeviceSize size, MemoryUse use);
  // Creates a buffer without memory, for Bind(). `margin` unused bytes precede and follow its range
  // in the VkBuffer; a multiple of minStorageBufferOffsetAlignment and
  // minTexelBufferOffsetAlignment.
  static Result<Buffer> CreateUnbound(const Device& device, VkDeviceSize size,
                                      VkDeviceSize margin = 0);

  // Binds the buffer to `memory`, which must outlive its use, at `offset`, a multiple of
  // requirements().alignment.
  Status Bind(const DeviceMemory& memory, VkDeviceSize offset);

  const Device& device() const { return handle_.device(); }
  VkBuffer handle() const { return handle_.get(); }
  // Offset of byte 0 in the VkBuffer.
  VkDeviceSize offset() const { return margin_; }
  VkDeviceSize size() const { return size_; }
  const VkMemoryRequirements& requirements() const { return requirements_; }
  // Host address of byte 0; null for device-only memory.
  std::byte* mapped() const { return mapped_; }

 private:
  friend class BufferView;
  Buffer() = default;

  DeviceMemory memory_;  // empty if the memory is shared
  DeviceHandle<VkBuffer, &DeviceFunctions::vkDestroyBuffer> handle_;
  VkDeviceSize size_ = 0;
  VkDeviceSize margin_ = 0;
  VkDeviceSize vulkan_size_ = 0;  // size of the VkBuffer
  VkMemoryRequirements requirements_{};
  std::byte* mapped_ = nullptr;
};

// A texel view of a buffer. Destroyed by the destructor; the GPU must have finished using it.
class BufferView {
 public:
  // A view of `size` bytes from `offset`, both multiples of 16, with texels of `type`. A view of a
  // whole buffer covers padding as well (software_device.h). The buffer has memory and outlives the
  // view.
  static Result<BufferView> Create(const Buffer& buffer, VkDeviceSize offset, VkDeviceSize size,
                                   pack::BindingType type);

  VkBufferView handle() const { return handle_.get(); }

 private:
  BufferView() = default;
  DeviceHandle<VkBufferView, &DeviceFunctions::vkDestroyBufferView> handle_;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_BUFFER_H_
