#include "tests/faults/heaps.h"

namespace spirloom::faults {

void Heaps::Split(uint64_t first, uint64_t second) {
  const std::scoped_lock lock(mutex_);
  split_ = true;
  room_ = {first, second};
}

void Heaps::Join() {
  const std::scoped_lock lock(mutex_);
  split_ = false;
  types_ = VK_MAX_MEMORY_TYPES;
  taken_.clear();
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

std::optional<VkMemoryAllocateInfo> Heaps::Take(const VkMemoryAllocateInfo& info) {
  const std::scoped_lock lock(mutex_);
  if (!split_) return info;
  uint64_t& room = room_[SetOf(info)];
  if (info.allocationSize > room) return std::nullopt;
  room -= info.allocationSize;
  VkMemoryAllocateInfo given = info;
  given.memoryTypeIndex %= types_;
  return given;
}

void Heaps::Give(VkDeviceMemory memory, const VkMemoryAllocateInfo& asked) {
  const std::scoped_lock lock(mutex_);
  if (!split_) return;
  if (memory == VK_NULL_HANDLE) {
    room_[SetOf(asked)] += asked.allocationSize;
  } else {
    taken_[memory] = {SetOf(asked), asked.allocationSize};
  }
}

void Heaps::Free(VkDeviceMemory memory) {
  const std::scoped_lock lock(mutex_);
  const auto found = taken_.find(memory);
  if (found == taken_.end()) return;
  room_[found->second.set] += found->second.size;
  taken_.erase(found);
}

}  // namespace spirloom::faults
