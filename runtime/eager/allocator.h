// The memory of a stream: segments, each one Vulkan buffer, divided into blocks.
#ifndef SPIRLOOM_RUNTIME_EAGER_ALLOCATOR_H_
#define SPIRLOOM_RUNTIME_EAGER_ALLOCATOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "runtime/eager/address_range.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/memory.h"
#include "spirloom/status.h"
#include "spirloom/stream.h"

namespace spirloom::eager {

// Offsets and sizes of blocks are multiples of it: a multiple of every device's alignment of
// storage buffers (at most 256 bytes) and of the 16-byte vectors that kernels store.
inline constexpr uint64_t kBlockAlignment = 512;

struct Segment;

// A range of a segment: an allocation, or a free range. Adjacent free ranges are merged.
struct Block {
  Segment* segment = nullptr;
  uint64_t offset = 0;  // in the segment
  uint64_t size = 0;
  uint64_t requested = 0;  // bytes that the allocation requires
  bool is_free = true;
  // Indices of the last commands that read and that wrote the range. Free blocks keep them, since
  // commands of the next allocation must come after these.
  uint64_t last_read = 0;
  uint64_t last_write = 0;
  // Neighbors in the list of free blocks of similar size.
  Block* previous_free = nullptr;
  Block* next_free = nullptr;
};

// A Vulkan buffer with its blocks by offset, which cover it.
struct Segment {
  vulkan::Buffer buffer;
  AddressRange addresses;
  bool is_small;
  std::map<uint64_t, Block> blocks = {};
};

// Allocates and frees blocks. Not thread-safe. The device must have finished with all blocks when
// the allocator is destroyed.
class Allocator {
 public:
  // `limit`: maximum sum of the sizes of segments; 0: none.
  Allocator(const vulkan::Device& device, vulkan::MemoryUse use, uint64_t limit)
      : device_(device), use_(use), limit_(limit) {}
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // A block of at least `size` bytes: a free one, divided if it is much larger, or one of a new
  // segment. Fails with kOutOfMemory.
  Result<Block*> Allocate(uint64_t size);
  // Makes the block available, and merges it with free neighbors.
  void Free(Block& block);
  // The allocated block that contains `address`, or null.
  Block* Find(const void* address);

  // Frees the segments without allocated blocks, with which the device must have finished. Returns
  // whether there was one.
  bool ReleaseUnused();

  StreamStats& stats() { return stats_; }

 private:
  // The lists of free blocks, four for each power of two.
  static constexpr size_t kBins = 160;
  using Bins = std::array<Block*, kBins>;
  static size_t BinOf(uint64_t size);

  Block* TakeFree(uint64_t size, bool is_small);
  Result<Block*> AddSegment(uint64_t size, bool is_small);
  void InsertFree(Block& block);
  void RemoveFree(Block& block);
  // Whether the free block is a part of a segment with others.
  static bool IsPiece(const Block& block) { return block.segment->blocks.size() > 1; }
  // Makes the part of `block` after `size` bytes a free block.
  void Split(Block& block, uint64_t size);

  const vulkan::Device& device_;
  const vulkan::MemoryUse use_;
  const uint64_t limit_;
  std::map<uintptr_t, std::unique_ptr<Segment>> segments_;  // by address
  std::array<Bins, 2> free_{};                              // of large and of small segments
  StreamStats stats_;
};

}  // namespace spirloom::eager

#endif  // SPIRLOOM_RUNTIME_EAGER_ALLOCATOR_H_
