// A counting host memory allocator for Vulkan.
#ifndef SPIRLOOM_TESTS_SUPPORT_COUNTING_ALLOCATOR_H_
#define SPIRLOOM_TESTS_SUPPORT_COUNTING_ALLOCATOR_H_

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "runtime/vulkan/vk.h"

namespace spirloom {

// Counts the allocations and reallocations of Vulkan host memory.
struct CountingAllocator {
  VkAllocationCallbacks callbacks{.pUserData = this,
                                  .pfnAllocation = &Allocate,
                                  .pfnReallocation = &Reallocate,
                                  .pfnFree = &Free,
                                  .pfnInternalAllocation = nullptr,
                                  .pfnInternalFree = nullptr};
  std::atomic<int> calls = 0;

  static void* VKAPI_PTR Allocate(void* user, size_t size, size_t alignment,
                                  VkSystemAllocationScope) {
    ++static_cast<CountingAllocator*>(user)->calls;
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  static void* VKAPI_PTR Reallocate(void* user, void* old, size_t size, size_t alignment,
                                    VkSystemAllocationScope scope) {
    void* memory = size == 0 ? nullptr : Allocate(user, size, alignment, scope);
    if (memory != nullptr && old != nullptr) {
      std::memcpy(memory, old, std::min(size, malloc_usable_size(old)));
    }
    std::free(old);
    return memory;
  }
  static void VKAPI_PTR Free(void*, void* memory) { std::free(memory); }
};

}  // namespace spirloom

#endif  // SPIRLOOM_TESTS_SUPPORT_COUNTING_ALLOCATOR_H_
