#ifndef SPIRLOOM_RUNTIME_VULKAN_MEMORY_H_
#define SPIRLOOM_RUNTIME_VULKAN_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Who touches the memory. All but kDevice are mapped and coherent: no flushes.
enum class MemoryUse : uint8_t {
  kDevice,    // the device only
  kUpload,    // written by the host, in order
  kReadback,  // read (or written) by the host in any order: cached
  kShared,    // used by every dispatch, and now and then by the host, which takes some bytes of it
};

// The memory type for `use` among the types of `type_bits`: the first of the best flags offered.
// Absent when none fits.
std::optional<uint32_t> ChooseMemoryType(const VkPhysicalDeviceMemoryProperties& memory,
                                         uint32_t type_bits, MemoryUse use);

// The memory type for each of several resources, given by their memoryTypeBits: one for all, so
// that they can share allocations, unless that gives one of them a lesser kind of memory than it
// can have. Absent when nothing fits one of them.
std::optional<std::vector<uint32_t>> ChooseMemoryTypes(
    const VkPhysicalDeviceMemoryProperties& memory, std::span<const uint32_t> type_bits,
    MemoryUse use);

// The types that can serve `use`, best first and one of each heap: where one heap is full, the next
// may have room. The first is ChooseMemoryType()'s.
std::vector<uint32_t> MemoryTypesFor(const VkPhysicalDeviceMemoryProperties& memory,
                                     uint32_t type_bits, MemoryUse use);

// A VkDeviceMemory, mapped for its whole life unless its use is kDevice. Freed on destruction; the
// GPU must be done with it, and buffers and images bound to it must be gone or never used again.
class DeviceMemory {
 public:
  // Of the first of MemoryTypesFor() whose heap has room. Fails with kOutOfMemory, naming the size,
  // beyond maxMemoryAllocationSize or when the device has no more.
  static Result<DeviceMemory> Create(const Device& device, VkDeviceSize size, uint32_t type_bits,
                                     MemoryUse use);

  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  VkDeviceMemory handle() const { return handle_; }
  VkDeviceSize size() const { return size_; }
  uint32_t type() const { return type_; }
  // The host's view of byte 0; null for kDevice.
  std::byte* mapped() const { return mapped_; }

 private:
  // The handle, of the first of `types` that has room.
  Status Allocate(const Device& device, VkDeviceSize size, std::span<const uint32_t> types);

  const Device* device_ = nullptr;
  VkDeviceMemory handle_ = VK_NULL_HANDLE;
  VkDeviceSize size_ = 0;
  uint32_t type_ = 0;
  std::byte* mapped_ = nullptr;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_MEMORY_H_
