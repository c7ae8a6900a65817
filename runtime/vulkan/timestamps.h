#ifndef SPIRLOOM_RUNTIME_VULKAN_TIMESTAMPS_H_
#define SPIRLOOM_RUNTIME_VULKAN_TIMESTAMPS_H_

#include <cstdint>
#include <vector>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Nanoseconds since ticks[0] of a counter that has `valid_bits` bits, wraps, and ticks every
// `period` nanoseconds.
std::vector<uint64_t> TicksToNanoseconds(const std::vector<uint64_t>& ticks, uint32_t valid_bits,
                                         double period);

// A pool of `count` timestamps, written by CommandBuffer::WriteTimestamp.
class TimestampPool {
 public:
  // Fails with kUnsupported when the device's queue has no timestamps.
  static Result<TimestampPool> Create(const Device& device, uint32_t count);

  // The times of queries 0 .. used - 1 in nanoseconds since query 0, from a finished submission.
  // A counter that wraps between two queries is accounted for.
  Result<std::vector<uint64_t>> Read(uint32_t used) const;

  VkQueryPool handle() const { return handle_.get(); }
  uint32_t count() const { return count_; }

 private:
  TimestampPool() = default;
  DeviceHandle<VkQueryPool, &DeviceFunctions::vkDestroyQueryPool> handle_;
  uint32_t count_ = 0;
};

// From one time to the next; 0 where timestamps of few bits come out of order.
constexpr uint64_t Elapsed(uint64_t start, uint64_t end) { return end < start ? 0 : end - start; }

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_TIMESTAMPS_H_
