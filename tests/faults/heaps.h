// Simulates a device with duplicated memory heaps of limited size.
#ifndef SPIRLOOM_TESTS_FAULTS_HEAPS_H_
#define SPIRLOOM_TESTS_FAULTS_HEAPS_H_

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace spirloom::faults {

// A layer between program and driver: the program sees every memory type twice, in two sets of
// heaps. Thread-safe.
class Heaps {
 public:
  // Starts with the next device. `first` and `second` are the total sizes of the two sets in bytes.
  void Split(uint64_t first, uint64_t second);
  void Join();

  // Converts the driver's memory types and requirements to the program's view.
  void Describe(VkPhysicalDeviceMemoryProperties& memory);
  void Describe(VkMemoryRequirements& requirements) const;

  // Reserves the size and returns the allocation for the driver; none if the set is full.
  std::optional<VkMemoryAllocateInfo> Reserve(const VkMemoryAllocateInfo& info);
  // Records the allocation of a reservation, or cancels the reservation if `memory` is null.
  void Commit(VkDeviceMemory memory, const VkMemoryAllocateInfo& requested);
  void Free(VkDeviceMemory memory);

 private:
  struct Allocation {
    size_t set;
    uint64_t size;
  };
  size_t SetOf(const VkMemoryAllocateInfo& info) const { return info.memoryTypeIndex / types_; }

  mutable std::mutex mutex_;
  bool split_ = false;
  uint32_t types_ = VK_MAX_MEMORY_TYPES;  // of the driver
  std::array<uint64_t, 2> free_{};
  std::map<VkDeviceMemory, Allocation> allocations_;
};

}  // namespace spirloom::faults

#endif  // SPIRLOOM_TESTS_FAULTS_HEAPS_H_
