#include "runtime/eager/stream_state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/graph/record/traits_of_device.h"

namespace spirloom::internal {
namespace {

constexpr VkPipelineStageFlags kDeviceStages =
    VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;

// Every counter of the statistics.
std::array<StreamCounter*, 7> Counters(StreamStats& stats) {
  return {&stats.blocks,        &stats.block_bytes, &stats.requested_bytes, &stats.segments,
          &stats.segment_bytes, &stats.free_pieces, &stats.free_piece_bytes};
}

}  // namespace

StreamAccess StreamAccessOf(const vulkan::Device& device) {
  return device.unified_memory() ? StreamAccess::kMapped : StreamAccess::kStaged;
}

StreamState::StreamState(std::shared_ptr<RuntimeState> runtime, const StreamOptions& options,
                         StreamAccess access)
    : runtime_(std::move(runtime)),
      access_(access),
      binding_alignment_(
          std::max<uint64_t>(16, graph::TraitsOf(*runtime_->device).buffer_offset_alignment)),
      allocator_(
          *runtime_->device,
          access == StreamAccess::kMapped ? vulkan::MemoryUse::kShared : vulkan::MemoryUse::kDevice,
          options.memory_limit),
      upload_(*runtime_->device, ring_),
      readback_(*runtime_->device),
      plans_(*runtime_),
      descriptors_(*runtime_->device, ring_),
      ring_(*runtime_->device) {}

Result<eager::Block*> StreamState::AllocateBlock(uint64_t size) {
  Result<eager::Block*> block = allocator_.Allocate(size);
  if (block.ok() || block.status().code() != StatusCode::kOutOfMemory) return block;
  SPIRLOOM_TRY(ring_.Wait(UINT64_MAX));
  if (allocator_.ReleaseUnused()) {
    ++retries_;
    block = allocator_.Allocate(size);
  }
  if (block.ok()) return block;
  ++out_of_memory_;
  const StreamStats& stats = allocator_.stats();
  return While(std::move(block).status(),
               "allocating {} bytes on '{}', where {} bytes are allocated in segments of {} bytes",
               size, runtime_->device->physical().info.name, stats.block_bytes.current,
               stats.segment_bytes.current);
}

Result<void*> StreamState::Allocate(size_t size) {
  const std::scoped_lock lock(mutex_);
  SPIRLOOM_TRY_ASSIGN(const eager::Block* block, AllocateBlock(size));
  return static_cast<void*>(block->segment->addresses.begin() + block->offset);
}

Status StreamState::Free(void* address) {
  if (address == nullptr) return {};
  const std::scoped_lock lock(mutex_);
  eager::Block* block = allocator_.Find(address);
  if (block == nullptr || block->segment->addresses.begin() + block->offset != address) {
    return Error(StatusCode::kInvalidArgument,
                 "The address to free is not that of a block of this stream.");
  }
  allocator_.Free(*block);
  return {};
}

Result<StreamBlock> StreamState::Find(const void* address) {
  const std::scoped_lock lock(mutex_);
  const eager::Block* block = allocator_.Find(address);
  if (block == nullptr) {
    return Error(StatusCode::kNotFound, "The address is not in a block of this stream.");
  }
  return StreamBlock{block->segment->addresses.begin() + block->offset,
                     static_cast<size_t>(block->size)};
}

Result<StreamState::Range> StreamState::FindRange(const char* what, const void* address,
                                                  size_t size) {
  eager::Block* block = allocator_.Find(address);
  if (block == nullptr) {
    return Error(StatusCode::kInvalidArgument,
                 "`{}` is not a device address in a block of this stream.", what);
  }
  const std::byte* begin = block->segment->addresses.begin() + block->offset;
  const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(address) - begin);
  if (size > block->size - offset) {
    return Error(StatusCode::kInvalidArgument,
                 "The {} bytes at `{}` exceed its block, which has {} bytes from there.", size,
                 what, block->size - offset);
  }
  return Range{block, offset, size};
}

Result<vulkan::CommandBuffer*> StreamState::Begin(std::span<const Use> uses) {
  SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer * commands, ring_.Next());
  const uint64_t index = ring_.last_recorded();
  // Each submission ends with a barrier.
  last_barrier_ = std::max(last_barrier_, ring_.last_submitted());
  uint64_t depends_on = 0;
  for (const Use& use : uses) {
    depends_on = std::max(depends_on, use.block->last_write);
    if (use.writes) depends_on = std::max(depends_on, use.block->last_read);
  }
  if (depends_on > last_barrier_) {
    const VkMemoryBarrier barrier{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .pNext = nullptr,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    commands->Barrier(kDeviceStages, kDeviceStages, {&barrier, 1}, {}, {});
    last_barrier_ = index - 1;
  }
  for (const Use& use : uses) {
    if (use.reads) use.block->last_read = index;
    if (use.writes) use.block->last_write = index;
  }
  return commands;
}

Status StreamState::WriteStaged(const Range& target, const std::byte* source) {
  for (uint64_t done = 0; done < target.size;) {
    const Range part = target.Part(done, std::min(target.size - done, eager::kMaxStagedBytes));
    SPIRLOOM_TRY_ASSIGN(const eager::StagedBytes staged, upload_.Take(part.size));
    std::memcpy(staged.host, source + done, static_cast<size_t>(part.size));
    const Use use[] = {{part.block, /*reads=*/false, /*writes=*/true}};
    SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer * commands, Begin(use));
    commands->CopyBuffer(staged.buffer, staged.offset, part.buffer(), part.buffer_offset(),
                         part.size);
    done += part.size;
  }
  return {};
}

Status StreamState::WriteAny(const Range& target, const std::byte* source) {
  if (access_ == StreamAccess::kMapped) {
    const uint64_t last = std::max(target.block->last_read, target.block->last_write);
    if (last > ring_.last_completed()) SPIRLOOM_TRY(ring_.Poll());
    if (last <= ring_.last_completed()) {
      std::memcpy(target.host(), source, static_cast<size_t>(target.size));
      return {};
    }
  }
  return WriteStaged(target, source);
}

Status StreamState::Write(void* target, const void* source, size_t size) {
  if (size == 0) return {};
  const std::scoped_lock lock(mutex_);
  SPIRLOOM_TRY_ASSIGN(const Range range, FindRange("target", target, size));
  return WriteAny(range, static_cast<const std::byte*>(source));
}

Status StreamState::ReadStaged(std::byte* target, const Range& source) {
  for (uint64_t done = 0; done < source.size;) {
    const Range part = source.Part(done, std::min(source.size - done, eager::kMaxStagedBytes));
    SPIRLOOM_TRY_ASSIGN(const eager::StagedBytes staged, readback_.Take(part.size));
    const Use use[] = {{part.block, /*reads=*/true, /*writes=*/false}};
    SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer * commands, Begin(use));
    commands->CopyBuffer(part.buffer(), part.buffer_offset(), staged.buffer, staged.offset,
                         part.size);
    SPIRLOOM_TRY(ring_.Wait(ring_.last_recorded()));
    std::memcpy(target + done, staged.host, static_cast<size_t>(part.size));
    done += part.size;
  }
  return {};
}

Status StreamState::Read(void* target, const void* source, size_t size) {
  if (size == 0) return {};
  const std::scoped_lock lock(mutex_);
  SPIRLOOM_TRY_ASSIGN(const Range range, FindRange("source", source, size));
  if (access_ == StreamAccess::kStaged) return ReadStaged(static_cast<std::byte*>(target), range);
  SPIRLOOM_TRY(ring_.Wait(range.block->last_write));
  std::memcpy(target, range.host(), size);
  return {};
}

Status StreamState::CopyRange(const Range& target, const Range& source) {
  const Use uses[] = {{source.block, /*reads=*/true, /*writes=*/false},
                      {target.block, /*reads=*/false, /*writes=*/true}};
  SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer * commands, Begin(uses));
  commands->CopyBuffer(source.buffer(), source.buffer_offset(), target.buffer(),
                       target.buffer_offset(), target.size);
  return {};
}

Status StreamState::Copy(void* target, const void* source, size_t size) {
  if (size == 0 || target == source) return {};
  const std::scoped_lock lock(mutex_);
  SPIRLOOM_TRY_ASSIGN(const Range to, FindRange("target", target, size));
  SPIRLOOM_TRY_ASSIGN(const Range from, FindRange("source", source, size));
  const bool overlap =
      to.block == from.block && to.offset < from.offset + size && from.offset < to.offset + size;
  if (!overlap) return CopyRange(to, from);
  SPIRLOOM_TRY_ASSIGN(eager::Block * scratch, AllocateBlock(size));
  const Range between{scratch, 0, size};
  Status status = CopyRange(between, from);
  if (status.ok()) status = CopyRange(to, between);
  allocator_.Free(*scratch);
  return status;
}

Status StreamState::FillRange(const Range& target, const uint8_t (&pattern)[4]) {
  // vkCmdFillBuffer() writes aligned words of 4 bytes. `pattern` is that of offset 0 of the block.
  const uint64_t end = target.offset + target.size;
  const uint64_t first_word = std::min((target.offset + 3) / 4 * 4, end);
  const uint64_t last_word = std::max(end / 4 * 4, first_word);
  std::byte edge[4];
  const auto write_edge = [&](uint64_t from, uint64_t to) -> Status {
    if (from == to) return {};
    for (uint64_t i = from; i < to; ++i) edge[i - from] = std::byte{pattern[i % 4]};
    return WriteAny({target.block, from, to - from}, edge);
  };
  SPIRLOOM_TRY(write_edge(target.offset, first_word));
  if (first_word < last_word) {
    const Range words{target.block, first_word, last_word - first_word};
    const Use use[] = {{words.block, /*reads=*/false, /*writes=*/true}};
    SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer * commands, Begin(use));
    uint32_t word = 0;
    std::memcpy(&word, pattern, sizeof(word));
    runtime_->device->fn().vkCmdFillBuffer(commands->handle(), words.buffer(),
                                           words.buffer_offset(), words.size, word);
  }
  return write_edge(last_word, end);
}

Status StreamState::Fill(void* target, size_t size, uint32_t pattern, size_t pattern_size) {
  if (pattern_size != 1 && pattern_size != 2 && pattern_size != 4) {
    return Error(StatusCode::kInvalidArgument,
                 "The pattern of a fill has {} bytes; expected 1, 2 or 4.", pattern_size);
  }
  if (size == 0) return {};
  const std::scoped_lock lock(mutex_);
  SPIRLOOM_TRY_ASSIGN(const Range range, FindRange("target", target, size));
  if (range.offset % pattern_size != 0 || size % pattern_size != 0) {
    return Error(StatusCode::kInvalidArgument,
                 "A fill of {} bytes at offset {} of a block is not aligned to its pattern of {} "
                 "bytes.",
                 size, range.offset, pattern_size);
  }
  uint8_t given[4];
  std::memcpy(given, &pattern, sizeof(pattern));
  uint8_t bytes[4];
  for (size_t i = 0; i < 4; ++i) bytes[i] = given[i % pattern_size];
  return FillRange(range, bytes);
}

uint64_t StreamState::last_command() {
  const std::scoped_lock lock(mutex_);
  return ring_.last_recorded();
}

Result<bool> StreamState::IsDone(uint64_t index) {
  const std::scoped_lock lock(mutex_);
  index = std::min(index, ring_.last_recorded());
  if (index > ring_.last_submitted()) SPIRLOOM_TRY(ring_.Submit());
  if (index > ring_.last_completed()) SPIRLOOM_TRY(ring_.Poll());
  return index <= ring_.last_completed();
}

Status StreamState::Wait(uint64_t index) {
  const std::scoped_lock lock(mutex_);
  return ring_.Wait(index);
}

Status StreamState::Submit() {
  const std::scoped_lock lock(mutex_);
  return ring_.Submit();
}

Status StreamState::EmptyCache() {
  const std::scoped_lock lock(mutex_);
  SPIRLOOM_TRY(ring_.Wait(UINT64_MAX));
  allocator_.ReleaseUnused();
  return {};
}

StreamStats StreamState::Stats() {
  const std::scoped_lock lock(mutex_);
  StreamStats stats = allocator_.stats();
  stats.retries = retries_;
  stats.out_of_memory = out_of_memory_;
  stats.submissions = ring_.submissions();
  return stats;
}

void StreamState::ResetPeaks() {
  const std::scoped_lock lock(mutex_);
  for (StreamCounter* counter : Counters(allocator_.stats())) counter->peak = counter->current;
}

void StreamState::ResetTotals() {
  const std::scoped_lock lock(mutex_);
  for (StreamCounter* counter : Counters(allocator_.stats())) {
    counter->increased = counter->decreased = 0;
  }
  retries_ = out_of_memory_ = 0;
}

}  // namespace spirloom::internal
