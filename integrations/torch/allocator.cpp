#include "integrations/torch/allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "integrations/torch/device.h"

namespace spirloom::pytorch {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using c10::CachingDeviceAllocator::DeviceStats;

void SetStat(StatArray& to, const uint64_t (&from)[4]) {
  Stat& all = to[static_cast<size_t>(StatType::AGGREGATE)];
  all.current = static_cast<int64_t>(from[SPIRLOOM_STREAM_CURRENT]);
  all.peak = static_cast<int64_t>(from[SPIRLOOM_STREAM_PEAK]);
  all.allocated = static_cast<int64_t>(from[SPIRLOOM_STREAM_INCREASED]);
  all.freed = static_cast<int64_t>(from[SPIRLOOM_STREAM_DECREASED]);
}

// Also called while the process ends, and in forked processes, where the memory is the parent's.
void DeleteBlock(void* address) {
  if (address == nullptr || IsForked()) return;
  spirloom_error* error = nullptr;
  spirloom_stream_free(OpenStream(), address, &error);
  spirloom_error_destroy(error);
}

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    const c10::Device device(kDeviceType, 0);
    if (size == 0) return {nullptr, device};
    void* address = nullptr;
    Call(spirloom_stream_allocate, OpenStream(), size, &address);
    return {address, address, &DeleteBlock, device};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &DeleteBlock; }

  void copy_data(void* target, const void* source, size_t size) const override {
    Call(spirloom_stream_copy, OpenStream(), target, source, size);
  }

  bool initialized() override { return IsOpen(); }

  void emptyCache(c10::MempoolId_t /*pool*/) override {
    if (IsOpen()) Call(spirloom_stream_empty_cache, OpenStream());
  }

  // All streams of PyTorch are one queue, in which a freed block is used again in order.
  void recordStream(const c10::DataPtr& /*data*/, c10::Stream /*stream*/) override {}

  DeviceStats getDeviceStats(c10::DeviceIndex /*device*/) override {
    DeviceStats stats;
    if (!IsOpen()) return stats;
    spirloom_stream_stats from = SPIRLOOM_INIT(spirloom_stream_stats);
    Call(spirloom_stream_memory, OpenStream(), &from);
    SetStat(stats.allocation, from.blocks);
    SetStat(stats.active, from.blocks);
    SetStat(stats.allocated_bytes, from.block_bytes);
    SetStat(stats.active_bytes, from.block_bytes);
    SetStat(stats.requested_bytes, from.requested_bytes);
    SetStat(stats.segment, from.segments);
    SetStat(stats.reserved_bytes, from.segment_bytes);
    SetStat(stats.inactive_split, from.free_pieces);
    SetStat(stats.inactive_split_bytes, from.free_piece_bytes);
    stats.num_alloc_retries = static_cast<int64_t>(from.retries);
    stats.num_ooms = static_cast<int64_t>(from.out_of_memory);
    stats.num_device_alloc = static_cast<int64_t>(from.segments[SPIRLOOM_STREAM_INCREASED]);
    stats.num_device_free = static_cast<int64_t>(from.segments[SPIRLOOM_STREAM_DECREASED]);
    return stats;
  }

  void resetAccumulatedStats(c10::DeviceIndex /*device*/) override {
    if (IsOpen()) spirloom_stream_reset_totals(OpenStream());
  }

  void resetPeakStats(c10::DeviceIndex /*device*/) override {
    if (IsOpen()) spirloom_stream_reset_peaks(OpenStream());
  }

  // Free and total bytes of the device's memory.
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex /*device*/) override {
    spirloom_memory_stats stats = SPIRLOOM_INIT(spirloom_memory_stats);
    Call(spirloom_runtime_memory, OpenRuntime(), &stats);
    spirloom_device_info info = SPIRLOOM_INIT(spirloom_device_info);
    Call(spirloom_runtime_device, OpenRuntime(), &info);
    return {stats.free, info.device_memory};
  }
};

// Host memory by address, which tensors may refer to until the process ends.
struct PinnedBlocks {
  std::mutex mutex;
  std::map<const char*, size_t> sizes;
};

PinnedBlocks& Pinned() {
  static PinnedBlocks* const blocks = new PinnedBlocks;
  return *blocks;
}

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* address = c10::GetDefaultCPUAllocator()->raw_allocate(std::max<size_t>(size, 1));
    PinnedBlocks& pinned = Pinned();
    const std::scoped_lock lock(pinned.mutex);
    pinned.sizes[static_cast<const char*>(address)] = std::max<size_t>(size, 1);
    return {address, address, &Delete, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &Delete; }

  void copy_data(void* target, const void* source, size_t size) const override {
    std::memcpy(target, source, size);
  }

 private:
  static void Delete(void* address) {
    PinnedBlocks& pinned = Pinned();
    {
      const std::scoped_lock lock(pinned.mutex);
      pinned.sizes.erase(static_cast<const char*>(address));
    }
    c10::GetDefaultCPUAllocator()->raw_deallocate(address);
  }
};

Allocator& TheAllocator() {
  static Allocator* const allocator = new Allocator;
  return *allocator;
}

const bool allocator_registered = [] {
  c10::SetAllocator(kDeviceType, &TheAllocator());
  return true;
}();

}  // namespace

c10::Allocator* DeviceMemory() {
  (void)allocator_registered;
  return &TheAllocator();
}

c10::DataPtr OwnBlock(void* address) {
  return {address, address, &DeleteBlock, c10::Device(kDeviceType, 0)};
}

c10::Allocator* PinnedMemory() {
  static PinnedAllocator* const allocator = new PinnedAllocator;
  return allocator;
}

bool IsPinned(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  PinnedBlocks& pinned = Pinned();
  const std::scoped_lock lock(pinned.mutex);
  auto after = pinned.sizes.upper_bound(byte);
  if (after == pinned.sizes.begin()) return false;
  --after;
  return byte < after->first + after->second;
}

}  // namespace spirloom::pytorch
