#ifndef SPIRLOOM_RUNTIME_VULKAN_IMPORTED_MEMORY_H_
#define SPIRLOOM_RUNTIME_VULKAN_IMPORTED_MEMORY_H_

#include <cstddef>
#include <span>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Memory of the host's as a transfer buffer (VK_EXT_external_memory_host). Does not own the bytes,
// which must outlive it; the GPU must be done with it on destruction.
class ImportedMemory {
 public:
  // Fails with kUnsupported without the extension, with kInvalidArgument unless the address and the
  // size of `bytes` are multiples of the device's alignment.
  static Result<ImportedMemory> Create(const Device& device, std::span<std::byte> bytes);

  VkBuffer buffer() const { return buffer_.get(); }

 private:
  ImportedMemory() = default;
  DeviceHandle<VkDeviceMemory, &DeviceFunctions::vkFreeMemory> memory_;
  DeviceHandle<VkBuffer, &DeviceFunctions::vkDestroyBuffer> buffer_;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_IMPORTED_MEMORY_H_
