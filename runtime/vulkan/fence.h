#ifndef SPIRLOOM_RUNTIME_VULKAN_FENCE_H_
#define SPIRLOOM_RUNTIME_VULKAN_FENCE_H_

#include <cstdint>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Signalled by a submission when it is done.
class Fence {
 public:
  static Result<Fence> Create(const Device& device);

  // Makes it ready for a submission. On failure nothing has changed.
  Status Reset();
  // Waits, without a limit, until what it was submitted with has ended. Fails with kDeviceLost.
  Status Wait() const;
  // Waits for at most so many nanoseconds; whether it has ended.
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
