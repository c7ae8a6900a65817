#ifndef SPIRLOOM_RUNTIME_VULKAN_TIMESTAMPS_H_
#define SPIRLOOM_RUNTIME_VULKAN_TIMESTAMPS_H_

#include <cstdint>
#include <vector>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Converts values of a counter that wraps after `valid_bits` bits and has a period of `period`
// nanoseconds to nanoseconds since ticks[0].
std::vector<uint64_t> TicksToNanoseconds(const std::vector<uint64_t>& ticks, uint32_t valid_bits,
                                         double period);

// A query pool of `count` timestamps, written by CommandBuffer::WriteTimestamp().
class TimestampPool {
 public:
  // Fails with kUnsupported if the device's queue does not support timestamps.
  static Result<TimestampPool> Create(const Device& device, uint32_t count);

  // The times of queries 0 to used - 1 of a completed submission, in nanoseconds since query 0.
  // Handles a counter that wraps.
  Result<std::vector<uint64_t>> Read(uint32_t used) const;

  VkQueryPool handle() const { return handle_.get(); }
  uint32_t count() const { return count_; }

 private:
  TimestampPool() = default;
  DeviceHandle<VkQueryPool, &DeviceFunctions::vkDestroyQueryPool> handle_;
  uint32_t count_ = 0;
};

// Duration between two times; 0 if timestamps with few bits are out of order.
constexpr uint64_t Elapsed(uint64_t start, uint64_t end) { return end < start ? 0 : end - start; }

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_TIMESTAMPS_H_
