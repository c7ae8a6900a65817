#ifndef SPIRLOOM_RUNTIME_VULKAN_FENCE_H_
#define SPIRLOOM_RUNTIME_VULKAN_FENCE_H_

#include <cstdint>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Signalled by a submission when it is done.
class Fence {
 public:
  static Result<Fence> Create(const Device& device);

  // Waits for the signal, without a limit, and resets. Fails with kDeviceLost.
  Status WaitAndReset();
  // Waits for the signal for at most so many nanoseconds; whether it came.
  Result<bool> WaitFor(uint64_t nanoseconds) const;

  // Whether it is signalled. Fails with kDeviceLost.
  Result<bool> IsSignalled() const;

  VkFence handle() const { return handle_.get(); }

 private:
  Fence() = default;
  DeviceHandle<VkFence, &DeviceFunctions::vkDestroyFence> handle_;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_FENCE_H_
