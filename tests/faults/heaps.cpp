#include "tests/faults/heaps.h"

namespace spirloom::faults {

void Heaps::Split(uint64_t first, uint64_t second) {
  const std::scoped_lock lock(mutex_);
  split_ = true;
  free_ = {first, second};
}

void Heaps::Join() {
  const std::scoped_lock lock(mutex_);
  split_ = false;
  types_ = VK_MAX_MEMORY_TYPES;
  allocations_.clear();
}

void Heaps::Describe(VkPhysicalDeviceMemoryProperties& memory) {
  const std::scoped_lock lock(mutex_);
  if (!split_) return;
  types_ = memory.memoryTypeCount;
  for (uint32_t i = 0; i < types_; ++i) {
    memory.memoryTypes[types_ + i] = memory.memoryTypes[i];
    memory.memoryTypes[types_ + i].heapIndex += memory.memoryHeapCount;
  }
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    memory.memoryHeaps[memory.memoryHeapCount + i] = memory.memoryHeaps[i];
  }
  memory.memoryTypeCount *= 2;
  memory.memoryHeapCount *= 2;
}

void Heaps::Describe(VkMemoryRequirements& requirements) const {
  const std::scoped_lock lock(mutex_);
  if (split_) requirements.memoryTypeBits |= requirements.memoryTypeBits << types_;
}

std::optional<VkMemoryAllocateInfo> Heaps::Reserve(const VkMemoryAllocateInfo& info) {
  const std::scoped_lock lock(mutex_);
  if (!split_) return info;
  uint64_t& free = free_[SetOf(info)];
  if (info.allocationSize > free) return std::nullopt;
  free -= info.allocationSize;
  VkMemoryAllocateInfo driver_info = info;
  driver_info.memoryTypeIndex %= types_;
  return driver_info;
}

void Heaps::Commit(VkDeviceMemory memory, const VkMemoryAllocateInfo& requested) {
  const std::scoped_lock lock(mutex_);
  if (!split_) return;
  if (memory == VK_NULL_HANDLE) {
    free_[SetOf(requested)] += requested.allocationSize;
  } else {
    allocations_[memory] = {SetOf(requested), requested.allocationSize};
  }
}

void Heaps::Free(VkDeviceMemory memory) {
  const std::scoped_lock lock(mutex_);
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) return;
  free_[found->second.set] += found->second.size;
  allocations_.erase(found);
}

}  // namespace spirloom::faults
