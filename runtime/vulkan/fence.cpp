#include "runtime/vulkan/fence.h"

#include <limits>

namespace spirloom::vulkan {

Result<Fence> Fence::Create(const Device& device) {
  VkFenceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  VkFence handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkCreateFence(device.handle(), &info, device.allocator(), &handle),
               "vkCreateFence"));
  Fence fence;
  fence.handle_ = {device, handle};
  return fence;
}

Status Fence::WaitAndReset() {
  const Device& device = handle_.device();
  const VkFence fence = handle_.get();
  SPIRLOOM_TRY(ToStatus(device.fn().vkWaitForFences(device.handle(), /*fenceCount=*/1, &fence,
                                                    VK_TRUE, std::numeric_limits<uint64_t>::max()),
                        "vkWaitForFences"));
  return ToStatus(device.fn().vkResetFences(device.handle(), /*fenceCount=*/1, &fence),
                  "vkResetFences");
}

Result<bool> Fence::WaitFor(uint64_t nanoseconds) const {
  const Device& device = handle_.device();
  const VkFence fence = handle_.get();
  const VkResult result =
      device.fn().vkWaitForFences(device.handle(), /*fenceCount=*/1, &fence, VK_TRUE, nanoseconds);
  if (result == VK_TIMEOUT) return false;
  SPIRLOOM_TRY(ToStatus(result, "vkWaitForFences"));
  return true;
}

Result<bool> Fence::IsSignalled() const {
  const Device& device = handle_.device();
  const VkResult result = device.fn().vkGetFenceStatus(device.handle(), handle_.get());
  if (result == VK_NOT_READY) return false;
  SPIRLOOM_TRY(ToStatus(result, "vkGetFenceStatus"));
  return true;
}

}  // namespace spirloom::vulkan
