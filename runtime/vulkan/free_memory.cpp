// How much device memory can still be allocated.
#include <algorithm>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

FreeMemory Device::free_memory() const {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  properties.pNext = &budget;
  const bool has_budget = physical_.HasExtension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (has_budget) {
    instance_.fn().vkGetPhysicalDeviceMemoryProperties2(physical_.handle, &properties);
  }
  const uint64_t in_use = counters_.allocated_bytes.load();
  FreeMemory free;
  uint64_t heaps = 0;
  for (uint32_t i = 0; i < physical_.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = physical_.memory.memoryHeaps[i];
    const uint64_t size = has_budget ? budget.heapBudget[i] : heap.size;
    const uint64_t used = has_budget ? budget.heapUsage[i] : in_use;
    const uint64_t left = size - std::min(size, used);
    heaps += size;
    free.total += left;
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      free.local = std::max(free.local, left);
  }
  // Without a budget it is unknown in which heaps the allocations are: each may have them all, but
  // together they have them once.
  if (!has_budget) free.total = heaps - std::min(heaps, in_use);
  if (const uint64_t limit = host().memory_limit; limit > 0) {
    const uint64_t left = limit - std::min(limit, in_use);
    free = {std::min(free.local, left), std::min(free.total, left)};
  }
  return free;
}

}  // namespace spirloom::vulkan
