// Blocks and segments: sizes, reuse, division and merging, statistics, limits.
#include "runtime/eager/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/device_fixture.h"
#include "tests/value_of.h"

namespace spirloom::eager {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class AllocatorTest : public testing::DeviceTest {
 protected:
  Allocator Make(uint64_t limit = 0) const { return {device(), vulkan::MemoryUse::kDevice, limit}; }

  static const std::byte* AddressOf(const Block& block) {
    return block.segment->addresses.begin() + block.offset;
  }
};

TEST_F(AllocatorTest, RoundsSizesAndAlignsAddresses) {
  Allocator allocator = Make();
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{512}, uint64_t{513}, 3 * kMiB}) {
    const Block* block = ValueOf(allocator.Allocate(size));
    EXPECT_GE(block->size, size);
    EXPECT_GE(block->size, kBlockAlignment);
    EXPECT_EQ(block->size % kBlockAlignment, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(AddressOf(*block)) % kBlockAlignment, 0u);
  }
}

TEST_F(AllocatorTest, ChoosesSegments) {
  Allocator allocator = Make();
  const auto segment_of = [&](uint64_t size) {
    return ValueOf(allocator.Allocate(size))->segment->buffer.size();
  };
  EXPECT_EQ(segment_of(kMiB), 2 * kMiB);
  EXPECT_EQ(segment_of(kMiB + 1), 20 * kMiB);
  EXPECT_EQ(segment_of(10 * kMiB), 20 * kMiB);
  EXPECT_EQ(segment_of(10 * kMiB + 1), 12 * kMiB);
  EXPECT_EQ(allocator.stats().segments.current, 3u);  // the third is in the second's segment
}

TEST_F(AllocatorTest, ReusesFreedBlocks) {
  Allocator allocator = Make();
  Block* first = ValueOf(allocator.Allocate(1000));
  const std::byte* address = AddressOf(*first);
  first->last_read = 7;
  first->last_write = 5;
  allocator.Free(*first);
  const Block* second = ValueOf(allocator.Allocate(900));
  EXPECT_EQ(AddressOf(*second), address);
  EXPECT_EQ(second->last_read, 7u);  // later commands depend on those of the freed block
  EXPECT_EQ(second->last_write, 5u);
}

TEST_F(AllocatorTest, TakesTheSmallestSufficientBlockOfItsBin) {
  Allocator allocator = Make();
  std::vector<Block*> blocks;
  for (const uint64_t units : {9, 1, 8, 1, 10, 1})
    blocks.push_back(ValueOf(allocator.Allocate(units * kBlockAlignment)));
  for (const size_t i : {0, 2, 4}) allocator.Free(*blocks[i]);
  EXPECT_EQ(ValueOf(allocator.Allocate(8 * kBlockAlignment)), blocks[2]);
}

TEST_F(AllocatorTest, MergesNeighbors) {
  Allocator allocator = Make();
  std::vector<Block*> blocks(4);
  for (Block*& block : blocks) block = ValueOf(allocator.Allocate(kMiB / 2));
  EXPECT_EQ(allocator.stats().segments.current, 1u);
  blocks[1]->last_write = 3;
  for (const size_t i : {0, 2, 1, 3}) allocator.Free(*blocks[i]);
  EXPECT_EQ(allocator.stats().free_pieces.current, 0u);
  const Block* large = ValueOf(allocator.Allocate(kMiB));
  EXPECT_EQ(large->offset, 0u);
  EXPECT_EQ(large->last_write, 3u);
  EXPECT_EQ(allocator.stats().segments.current, 1u);
}

TEST_F(AllocatorTest, FindsBlocksByAddress) {
  Allocator allocator = Make();
  Block* block = ValueOf(allocator.Allocate(1000));
  const std::byte* address = AddressOf(*block);
  EXPECT_EQ(allocator.Find(address), block);
  EXPECT_EQ(allocator.Find(address + 1023), block);
  EXPECT_EQ(allocator.Find(address + 1024), nullptr);  // free
  EXPECT_EQ(allocator.Find(address + 2 * kMiB), nullptr);
  EXPECT_EQ(allocator.Find(nullptr), nullptr);
  EXPECT_EQ(allocator.Find(&allocator), nullptr);
}

TEST_F(AllocatorTest, CountsPeaksAndTotals) {
  Allocator allocator = Make();
  Block* first = ValueOf(allocator.Allocate(1000));
  Block* second = ValueOf(allocator.Allocate(2000));
  allocator.Free(*first);
  const StreamStats& stats = allocator.stats();
  EXPECT_EQ(stats.blocks.current, 1u);
  EXPECT_EQ(stats.blocks.peak, 2u);
  EXPECT_EQ(stats.block_bytes.current, 2048u);
  EXPECT_EQ(stats.block_bytes.peak, 1024u + 2048);
  EXPECT_EQ(stats.requested_bytes.increased, 3000u);
  EXPECT_EQ(stats.requested_bytes.decreased, 1000u);
  EXPECT_EQ(stats.segment_bytes.current, 2 * kMiB);
  EXPECT_EQ(stats.free_pieces.current, 2u);
  EXPECT_EQ(stats.free_piece_bytes.current, 2 * kMiB - 2048);
  allocator.Free(*second);
  EXPECT_EQ(stats.free_piece_bytes.current, 0u);
}

TEST_F(AllocatorTest, ReleasesUnusedSegmentsOnly) {
  Allocator allocator = Make();
  Block* kept = ValueOf(allocator.Allocate(100));
  Block* freed = ValueOf(allocator.Allocate(12 * kMiB));
  EXPECT_FALSE(allocator.ReleaseUnused());
  allocator.Free(*freed);
  EXPECT_TRUE(allocator.ReleaseUnused());
  EXPECT_EQ(allocator.stats().segment_bytes.current, 2 * kMiB);
  EXPECT_EQ(allocator.Find(AddressOf(*kept)), kept);
}

TEST_F(AllocatorTest, RespectsTheLimit) {
  Allocator allocator = Make(/*limit=*/3 * kMiB);
  (void)ValueOf(allocator.Allocate(100));
  const auto failed = allocator.Allocate(2 * kMiB);
  EXPECT_EQ(failed.status().code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(failed.status().message(),
              HasSubstr("A segment of 20971520 bytes, in addition to 2097152 bytes of other "
                        "segments, exceeds StreamOptions::memory_limit (3145728 bytes)."));
  EXPECT_EQ(allocator.Allocate(UINT64_MAX).status().code(), StatusCode::kOutOfMemory);
}

// Blocks never overlap and cover their segments, in any order of calls.
TEST_F(AllocatorTest, KeepsBlocksApart) {
  Allocator allocator = Make();
  std::mt19937 random(1);
  std::vector<Block*> live;
  for (int step = 0; step < 3000; ++step) {
    if (live.size() < 20 || random() % 2 == 0) {
      const uint64_t size = random() % 8 == 0 ? random() % (3 * kMiB) : random() % 20'000;
      live.push_back(ValueOf(allocator.Allocate(size)));
    } else {
      std::swap(live[random() % live.size()], live.back());
      allocator.Free(*live.back());
      live.pop_back();
    }
    if (live.size() > 60) {
      allocator.Free(*live.front());
      live.erase(live.begin());
    }
  }
  std::set<Segment*> segments;
  for (Block* block : live) {
    EXPECT_FALSE(block->is_free);
    EXPECT_EQ(allocator.Find(AddressOf(*block)), block);
    segments.insert(block->segment);
  }
  for (const Segment* segment : segments) {
    uint64_t end = 0;
    bool last_free = false;
    for (const auto& [offset, block] : segment->blocks) {
      EXPECT_EQ(offset, end);
      EXPECT_EQ(block.offset, offset);
      EXPECT_FALSE(block.is_free && last_free) << "Free neighbors are not merged.";
      end = offset + block.size;
      last_free = block.is_free;
    }
    EXPECT_EQ(end, segment->buffer.size());
  }
  for (Block* block : live) allocator.Free(*block);
  EXPECT_EQ(allocator.stats().block_bytes.current, 0u);
  EXPECT_EQ(allocator.stats().free_piece_bytes.current, 0u);
  EXPECT_TRUE(allocator.ReleaseUnused());
  EXPECT_EQ(allocator.stats().segment_bytes.current, 0u);
}

}  // namespace
}  // namespace spirloom::eager
