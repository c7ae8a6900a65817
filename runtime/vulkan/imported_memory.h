#ifndef SPIRLOOM_RUNTIME_VULKAN_IMPORTED_MEMORY_H_
#define SPIRLOOM_RUNTIME_VULKAN_IMPORTED_MEMORY_H_

#include <cstddef>
#include <span>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Host memory imported as a transfer buffer (VK_EXT_external_memory_host). Does not own the bytes,
// which must outlive it. Destroyed by the destructor; the GPU must have finished using it.
class ImportedMemory {
 public:
  // Fails with kUnsupported without the extension, with kInvalidArgument unless address and size of
  // `bytes` are multiples of minImportedHostPointerAlignment.
  static Result<ImportedMemory> Create(const Device& device, std::span<std::byte> bytes);

  VkBuffer buffer() const { return buffer_.get(); }

 private:
  ImportedMemory() = default;
  DeviceHandle<VkDeviceMemory, &DeviceFunctions::vkFreeMemory> memory_;
  DeviceHandle<VkBuffer, &DeviceFunctions::vkDestroyBuffer> buffer_;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_IMPORTED_MEMORY_H_
