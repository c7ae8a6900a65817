#ifndef SPIRLOOM_RUNTIME_VULKAN_MEMORY_H_
#define SPIRLOOM_RUNTIME_VULKAN_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// How the host and the device use memory. All but kDevice are mapped and coherent.
enum class MemoryUse : uint8_t {
  kDevice,    // only accessed by the device
  kUpload,    // written sequentially by the host
  kReadback,  // read (or written) by the host in any order: cached
  kShared,    // accessed by every dispatch, and occasionally by the host
};

// The preferred memory type for `use` among the types in `type_bits`, or none.
std::optional<uint32_t> ChooseMemoryType(const VkPhysicalDeviceMemoryProperties& memory,
                                         uint32_t type_bits, MemoryUse use);

// The memory types of several resources, given by their memoryTypeBits. A common type, which allows
// a shared allocation, if it has the property flags that each resource would get separately. None
// if there is no type for a resource.
std::optional<std::vector<uint32_t>> ChooseMemoryTypes(
    const VkPhysicalDeviceMemoryProperties& memory, std::span<const uint32_t> type_bits,
    MemoryUse use);

// The memory types for `use`, preferred ones first, one per heap: fallbacks if a heap is full. The
// first one is that of ChooseMemoryType().
std::vector<uint32_t> MemoryTypesFor(const VkPhysicalDeviceMemoryProperties& memory,
                                     uint32_t type_bits, MemoryUse use);

// A VkDeviceMemory, mapped during its lifetime unless its use is kDevice. Freed by the destructor;
// the GPU must have finished using it, and bound buffers and images must be destroyed or unused.
class DeviceMemory {
 public:
  // Allocates from the first of MemoryTypesFor() whose heap has enough memory. Fails with
  // kOutOfMemory beyond maxMemoryAllocationSize or if all heaps are full.
  static Result<DeviceMemory> Create(const Device& device, VkDeviceSize size, uint32_t type_bits,
                                     MemoryUse use);

  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  VkDeviceMemory handle() const { return handle_; }
  VkDeviceSize size() const { return size_; }
  uint32_t type() const { return type_; }
  // Host address of byte 0; null for kDevice.
  std::byte* mapped() const { return mapped_; }

 private:
  // Allocates from the first of `types` that has enough memory.
  Status Allocate(const Device& device, VkDeviceSize size, std::span<const uint32_t> types);

  const Device* device_ = nullptr;
  VkDeviceMemory handle_ = VK_NULL_HANDLE;
  VkDeviceSize size_ = 0;
  uint32_t type_ = 0;
  std::byte* mapped_ = nullptr;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_MEMORY_H_
