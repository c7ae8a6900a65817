#include "runtime/vulkan/resident_drivers.h"

#include <mutex>

namespace spirloom::vulkan {

void KeepDriversLoaded(PFN_vkGetInstanceProcAddr get) {
  static std::mutex mutex;
  static VkInstance kept = VK_NULL_HANDLE;
  const std::scoped_lock lock(mutex);
  if (kept != VK_NULL_HANDLE) return;
  const auto create =
      reinterpret_cast<PFN_vkCreateInstance>(get(VK_NULL_HANDLE, "vkCreateInstance"));
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  VkInstance instance = VK_NULL_HANDLE;
  if (create(&info, /*pAllocator=*/nullptr, &instance) == VK_SUCCESS) kept = instance;
}

}  // namespace spirloom::vulkan
