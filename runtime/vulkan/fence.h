#ifndef SPIRLOOM_RUNTIME_VULKAN_FENCE_H_
#define SPIRLOOM_RUNTIME_VULKAN_FENCE_H_

#include <cstdint>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// A VkFence, signaled when its submission has completed.
class Fence {
 public:
  static Result<Fence> Create(const Device& device);

  // Resets the fence for a new submission. No effect on failure.
  Status Reset();
  // Waits without timeout for the submission. Fails with kDeviceLost.
  Status Wait() const;
  // Waits for at most `nanoseconds`. Returns whether the submission has completed. After an error
  // of the driver it waits without timeout, like Wait().
  Result<bool> WaitFor(uint64_t nanoseconds) const;

  // Returns whether the fence is signaled. Fails with kDeviceLost.
  Result<bool> IsSignaled() const;

  VkFence handle() const { return handle_.get(); }

 private:
  Fence() = default;
  DeviceHandle<VkFence, &DeviceFunctions::vkDestroyFence> handle_;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_FENCE_H_
