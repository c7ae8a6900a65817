#include "runtime/vulkan/timestamps.h"

#include <cassert>
#include <string>

#include "runtime/base/error.h"

namespace spirloom::vulkan {

Result<TimestampPool> TimestampPool::Create(const Device& device, uint32_t count) {
  if (device.physical().timestamp_valid_bits == 0 || device.limits().timestampPeriod <= 0) {
    return Error(
        StatusCode::kUnsupported,
        "The device '{}' does not support timestamps, which are required to measure times.",
        device.physical().info.name);
  }
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = count > 0 ? count : 1;
  VkQueryPool handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkCreateQueryPool(device.handle(), &info, device.allocator(), &handle),
               "vkCreateQueryPool"));
  TimestampPool pool;
  pool.handle_ = {device, handle};
  pool.count_ = info.queryCount;
  return pool;
}

Result<std::vector<uint64_t>> TimestampPool::Read(uint32_t used) const {
  assert(used <= count_);
  std::vector<uint64_t> times(used);
  if (used == 0) return times;
  const Device& device = handle_.device();
  SPIRLOOM_TRY(device.Check(
      device.fn().vkGetQueryPoolResults(device.handle(), handle_.get(), /*firstQuery=*/0, used,
                                        times.size() * sizeof(uint64_t), times.data(),
                                        sizeof(uint64_t), VK_QUERY_RESULT_64_BIT),
      "vkGetQueryPoolResults"));
  return TicksToNanoseconds(times, device.physical().timestamp_valid_bits,
                            static_cast<double>(device.limits().timestampPeriod));
}

std::vector<uint64_t> TicksToNanoseconds(const std::vector<uint64_t>& ticks, uint32_t valid_bits,
                                         double period) {
  const uint64_t mask = valid_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << valid_bits) - 1;
  std::vector<uint64_t> times(ticks.size());
  for (size_t i = 0; i < ticks.size(); ++i) {
    const uint64_t elapsed = (ticks[i] - ticks[0]) & mask;
    // More than half of the range: the query was written shortly before query 0.
    times[i] =
        elapsed > mask / 2 ? 0 : static_cast<uint64_t>(static_cast<double>(elapsed) * period);
  }
  return times;
}

}  // namespace spirloom::vulkan
