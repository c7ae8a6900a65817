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

Status Fence::Reset() {
  const VkFence fence = handle_.get();
  const Device& device = handle_.device();
  return ToStatus(device.fn().vkResetFences(device.handle(), /*fenceCount=*/1, &fence),
                  "vkResetFences");
}

Status Fence::Wait() const {
  const Device& device = handle_.device();
  const VkFence fence = handle_.get();
  const VkResult result = device.fn().vkWaitForFences(
      device.handle(), /*fenceCount=*/1, &fence, VK_TRUE, std::numeric_limits<uint64_t>::max());
  if (result == VK_SUCCESS || device.WaitAgain(fence, result)) return {};
  return device.Check(result, "vkWaitForFences");
}

Result<bool> Fence::WaitFor(uint64_t nanoseconds) const {
  const Device& device = handle_.device();
  const VkFence fence = handle_.get();
  const VkResult result =
      device.fn().vkWaitForFences(device.handle(), /*fenceCount=*/1, &fence, VK_TRUE, nanoseconds);
  if (result == VK_TIMEOUT) return false;
  if (result == VK_SUCCESS || device.WaitAgain(fence, result)) return true;
  return device.Check(result, "vkWaitForFences");
}

Result<bool> Fence::IsSignaled() const {
  const Device& device = handle_.device();
  const VkResult result = device.fn().vkGetFenceStatus(device.handle(), handle_.get());
  if (result == VK_NOT_READY) return false;
  SPIRLOOM_TRY(device.Check(result, "vkGetFenceStatus"));
  return true;
}

}  // namespace spirloom::vulkan
