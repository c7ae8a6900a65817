#include "runtime/eager/allocator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/base/align.h"
#include "runtime/base/error.h"

namespace spirloom::eager {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMaxSmallBlock = kMiB;        // larger blocks are in large segments
constexpr uint64_t kMaxSharedBlock = 10 * kMiB;  // larger blocks have a segment of their own
constexpr uint64_t kSmallSegment = 2 * kMiB;
constexpr uint64_t kLargeSegment = 20 * kMiB;

uint64_t SegmentSize(uint64_t block) {
  if (block <= kMaxSmallBlock) return kSmallSegment;
  return block <= kMaxSharedBlock ? kLargeSegment : AlignUp(block, kSmallSegment);
}

// The remainder of a free block that is not worth a block of its own.
uint64_t MinRemainder(bool is_small) { return is_small ? kBlockAlignment : kMaxSmallBlock; }

void Increase(StreamCounter& counter, uint64_t amount) {
  counter.current += amount;
  counter.increased += amount;
  counter.peak = std::max(counter.peak, counter.current);
}

void Decrease(StreamCounter& counter, uint64_t amount) {
  counter.current -= amount;
  counter.decreased += amount;
}

uintptr_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

size_t Allocator::BinOf(uint64_t size) {
  const uint64_t units = size / kBlockAlignment;
  if (units < 4) return static_cast<size_t>(units);
  const auto log = static_cast<size_t>(std::bit_width(units)) - 1;
  return 4 * (log - 1) + static_cast<size_t>(units >> (log - 2) & 3);
}

void Allocator::InsertFree(Block& block) {
  Block*& head = free_[block.segment->is_small][BinOf(block.size)];
  block.is_free = true;
  block.previous_free = nullptr;
  block.next_free = head;
  if (head != nullptr) head->previous_free = &block;
  head = &block;
}

void Allocator::RemoveFree(Block& block) {
  Block*& head = free_[block.segment->is_small][BinOf(block.size)];
  if (block.previous_free == nullptr) {
    head = block.next_free;
  } else {
    block.previous_free->next_free = block.next_free;
  }
  if (block.next_free != nullptr) block.next_free->previous_free = block.previous_free;
  block.is_free = false;
}

Block* Allocator::TakeFree(uint64_t size, bool is_small) {
  const Bins& bins = free_[is_small];
  const size_t first = BinOf(size);
  Block* best = nullptr;  // blocks of the first bin may be too small
  for (Block* block = bins[first]; block != nullptr; block = block->next_free) {
    if (block->size >= size && (best == nullptr || block->size < best->size)) best = block;
  }
  for (size_t bin = first + 1; best == nullptr && bin < kBins; ++bin) best = bins[bin];
  if (best == nullptr) return nullptr;
  if (IsPiece(*best)) {
    Decrease(stats_.free_pieces, 1);
    Decrease(stats_.free_piece_bytes, best->size);
  }
  RemoveFree(*best);
  return best;
}

Result<Block*> Allocator::AddSegment(uint64_t size, bool is_small) {
  const uint64_t bytes = SegmentSize(size);
  const uint64_t in_use = stats_.segment_bytes.current;
  if (limit_ > 0 && (bytes > limit_ || in_use > limit_ - bytes)) {
    return Error(StatusCode::kOutOfMemory,
                 "A segment of {} bytes, in addition to {} bytes of other segments, exceeds "
                 "StreamOptions::memory_limit ({} bytes).",
                 bytes, in_use, limit_);
  }
  SPIRLOOM_TRY_ASSIGN(AddressRange addresses, AddressRange::Reserve(static_cast<size_t>(bytes)));
  SPIRLOOM_TRY_ASSIGN(vulkan::Buffer buffer, vulkan::Buffer::Create(device_, bytes, use_));
  const uintptr_t address = AddressOf(addresses.begin());
  auto segment = std::make_unique<Segment>(Segment{
      .buffer = std::move(buffer), .addresses = std::move(addresses), .is_small = is_small});
  Block& block = segment->blocks[0];
  block.segment = segment.get();
  block.size = bytes;
  block.is_free = false;
  segments_.emplace(address, std::move(segment));
  Increase(stats_.segments, 1);
  Increase(stats_.segment_bytes, bytes);
  return &block;
}

void Allocator::Split(Block& block, uint64_t size) {
  Block rest = block;
  rest.offset += size;
  rest.size -= size;
  Block& added = block.segment->blocks.emplace(rest.offset, rest).first->second;
  block.size = size;
  InsertFree(added);
  Increase(stats_.free_pieces, 1);
  Increase(stats_.free_piece_bytes, added.size);
}

Result<Block*> Allocator::Allocate(uint64_t size) {
  if (size > UINT64_MAX / 2) {
    return Error(StatusCode::kOutOfMemory, "An allocation of {} bytes exceeds the address space.",
                 size);
  }
  const uint64_t rounded = AlignUp(std::max<uint64_t>(size, 1), kBlockAlignment);
  const bool is_small = rounded <= kMaxSmallBlock;
  Block* block = TakeFree(rounded, is_small);
  if (block == nullptr) {
    SPIRLOOM_TRY_ASSIGN(block, AddSegment(rounded, is_small));
  }
  const uint64_t remainder = block->size - rounded;
  if (remainder > 0 && remainder >= MinRemainder(is_small)) Split(*block, rounded);
  block->requested = size;
  Increase(stats_.blocks, 1);
  Increase(stats_.block_bytes, block->size);
  Increase(stats_.requested_bytes, size);
  return block;
}

void Allocator::Free(Block& block) {
  Decrease(stats_.blocks, 1);
  Decrease(stats_.block_bytes, block.size);
  Decrease(stats_.requested_bytes, block.requested);
  block.requested = 0;
  std::map<uint64_t, Block>& blocks = block.segment->blocks;
  // Appends the range after `first` to it.
  const auto merge = [&](std::map<uint64_t, Block>::iterator first) {
    const auto second = std::next(first);
    first->second.size += second->second.size;
    first->second.last_read = std::max(first->second.last_read, second->second.last_read);
    first->second.last_write = std::max(first->second.last_write, second->second.last_write);
    blocks.erase(second);
  };
  const auto take = [&](Block& neighbor) {
    Decrease(stats_.free_pieces, 1);
    Decrease(stats_.free_piece_bytes, neighbor.size);
    RemoveFree(neighbor);
  };
  auto here = blocks.find(block.offset);
  if (const auto next = std::next(here); next != blocks.end() && next->second.is_free) {
    take(next->second);
    merge(here);
  }
  if (here != blocks.begin() && std::prev(here)->second.is_free) {
    --here;
    take(here->second);
    merge(here);
  }
  InsertFree(here->second);
  if (!IsPiece(here->second)) return;
  Increase(stats_.free_pieces, 1);
  Increase(stats_.free_piece_bytes, here->second.size);
}

Block* Allocator::Find(const void* address) {
  auto segment = segments_.upper_bound(AddressOf(address));
  if (segment == segments_.begin()) return nullptr;
  --segment;
  const uint64_t offset = AddressOf(address) - segment->first;
  if (offset >= segment->second->buffer.size()) return nullptr;
  Block& block = std::prev(segment->second->blocks.upper_bound(offset))->second;
  return block.is_free ? nullptr : &block;
}

bool Allocator::ReleaseUnused() {
  bool released = false;
  for (auto next = segments_.begin(); next != segments_.end();) {
    Segment& segment = *next->second;
    Block& first = segment.blocks.begin()->second;
    if (segment.blocks.size() > 1 || !first.is_free) {
      ++next;
      continue;
    }
    RemoveFree(first);
    Decrease(stats_.segments, 1);
    Decrease(stats_.segment_bytes, segment.buffer.size());
    next = segments_.erase(next);
    released = true;
  }
  return released;
}

}  // namespace spirloom::eager
