// A device's memory as if it had each of its heaps twice, with little room in them.
#ifndef SPIRLOOM_TESTS_FAULTS_HEAPS_H_
#define SPIRLOOM_TESTS_FAULTS_HEAPS_H_

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace spirloom::faults {

// Stands between a program and the driver: the program sees every memory type twice, the second
// times in heaps of their own. Thread-safe.
class Heaps {
 public:
  // From the next device on; `first` and `second` are what the heaps of either set have together.
  void Split(uint64_t first, uint64_t second);
  void Join();

  // What the driver tells of types and requirements, as the program sees it.
  void Describe(VkPhysicalDeviceMemoryProperties& memory);
  void Describe(VkMemoryRequirements& requirements) const;

  // The allocation as the driver sees it, its size taken; absent where there is no room.
  std::optional<VkMemoryAllocateInfo> Take(const VkMemoryAllocateInfo& info);
  // Whose that is; null: the driver had none.
  void Give(VkDeviceMemory memory, const VkMemoryAllocateInfo& asked);
  void Free(VkDeviceMemory memory);

 private:
  struct Part {
    size_t set;
    uint64_t size;
  };
  size_t SetOf(const VkMemoryAllocateInfo& info) const { return info.memoryTypeIndex / types_; }

  mutable std::mutex mutex_;
  bool split_ = false;
  uint32_t types_ = VK_MAX_MEMORY_TYPES;  // of the driver
  std::array<uint64_t, 2> room_{};
  std::map<VkDeviceMemory, Part> taken_;
};

}  // namespace spirloom::faults

#endif  // SPIRLOOM_TESTS_FAULTS_HEAPS_H_
