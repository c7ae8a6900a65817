// Streams: copies and fills with both kinds of access to device memory, order, events, memory,
// threads. Validation layers check synchronization.
#include "spirloom/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/eager/stream_state.h"
#include "tests/value_of.h"

namespace spirloom::internal {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

using Bytes = std::vector<uint8_t>;

constexpr size_t kMiB = size_t{1} << 20;

Bytes Pattern(size_t size, uint8_t seed = 1) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + (i >> 8) + seed);
  return bytes;
}

class StreamTest : public ::testing::TestWithParam<StreamAccess> {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "There is no Vulkan device.";
    runtime_ = ValueOf(Runtime::Create({.cache_dir = "none", .validation = true}));
    if (GetParam() == StreamAccess::kMapped && !runtime_->state()->device->unified_memory())
      GTEST_SKIP() << "The device does not have unified memory.";
    stream_.emplace(runtime_->state(), StreamOptions(), GetParam());
  }

  void TearDown() override {
    stream_.reset();
    if (!runtime_) return;
    EXPECT_EQ(runtime_->validation_message_count(), 0u);
  }

  std::byte* Allocate(size_t size) {
    return static_cast<std::byte*>(ValueOf(stream_->Allocate(size)));
  }
  void Write(std::byte* target, const Bytes& bytes) {
    const Status status = stream_->Write(target, bytes.data(), bytes.size());
    EXPECT_TRUE(status.ok()) << status.message();
  }
  Bytes Read(const std::byte* source, size_t size) {
    Bytes bytes(size);
    const Status status = stream_->Read(bytes.data(), source, size);
    EXPECT_TRUE(status.ok()) << status.message();
    return bytes;
  }

  std::optional<Runtime> runtime_;
  std::optional<StreamState> stream_;
};

INSTANTIATE_TEST_SUITE_P(All, StreamTest,
                         ::testing::Values(StreamAccess::kMapped, StreamAccess::kStaged),
                         [](const auto& each) {
                           return each.param == StreamAccess::kMapped ? "Mapped" : "Staged";
                         });

TEST_P(StreamTest, CopiesBytesOfAnySize) {
  for (const size_t size : {size_t{1}, size_t{5}, size_t{512}, size_t{70'001}, 9 * kMiB + 3}) {
    std::byte* x = Allocate(size);
    std::byte* y = Allocate(size);
    const Bytes bytes = Pattern(size);
    Write(x, bytes);
    ASSERT_TRUE(stream_->Copy(y, x, size).ok());
    EXPECT_EQ(Read(y, size), bytes) << size;
  }
}

TEST_P(StreamTest, CopiesRangesOfBlocks) {
  std::byte* x = Allocate(100);
  Write(x, Pattern(100));
  Bytes expected = Pattern(100);
  Write(x + 33, Pattern(7, 100));
  std::ranges::copy(Pattern(7, 100), expected.begin() + 33);
  EXPECT_EQ(Read(x, 100), expected);
  EXPECT_EQ(Read(x + 30, 11), Bytes(expected.begin() + 30, expected.begin() + 41));
}

TEST_P(StreamTest, CopiesOverlappingRanges) {
  std::byte* x = Allocate(100);
  Bytes expected = Pattern(100);
  Write(x, expected);
  ASSERT_TRUE(stream_->Copy(x + 3, x, 50).ok());
  std::copy_backward(expected.begin(), expected.begin() + 50, expected.begin() + 53);
  EXPECT_EQ(Read(x, 100), expected);
}

TEST_P(StreamTest, FillsBytesOutsideOfWords) {
  for (const size_t begin : {0, 1, 2, 3, 4}) {
    for (const size_t size : {0, 1, 2, 3, 4, 5, 6, 7, 8, 100}) {
      std::byte* x = Allocate(200);
      Bytes expected = Pattern(200);
      Write(x, expected);
      ASSERT_TRUE(stream_->Fill(x + begin, size, 0xAB, 1).ok());
      std::fill_n(expected.begin() + static_cast<ptrdiff_t>(begin), size, uint8_t{0xAB});
      EXPECT_EQ(Read(x, 200), expected) << begin << " " << size;
      ASSERT_TRUE(stream_->Free(x).ok());
    }
  }
}

TEST_P(StreamTest, FillsWithLongerPatterns) {
  std::byte* x = Allocate(64);
  ASSERT_TRUE(stream_->Fill(x, 64, 0x04030201, 4).ok());
  ASSERT_TRUE(stream_->Fill(x + 2, 8, 0xBEEF0605, 2).ok());
  const Bytes bytes = Read(x, 16);
  EXPECT_EQ(bytes, (Bytes{1, 2, 5, 6, 5, 6, 5, 6, 5, 6, 3, 4, 1, 2, 3, 4}));
  EXPECT_THAT(stream_->Fill(x + 1, 4, 0, 4).message(),
              HasSubstr("A fill of 4 bytes at offset 1 of a block is not aligned to its pattern of "
                        "4 bytes."));
  EXPECT_THAT(stream_->Fill(x, 4, 0, 3).message(), HasSubstr("has 3 bytes; expected 1, 2 or 4."));
}

// The source may change after Write(), and commands take effect in their order.
TEST_P(StreamTest, KeepsTheOrderOfCommands) {
  std::byte* x = Allocate(4);
  std::byte* y = Allocate(4 * 300);
  for (int i = 0; i < 300; ++i) {
    Write(x, Bytes(4, static_cast<uint8_t>(i)));
    ASSERT_TRUE(stream_->Copy(y + 4 * i, x, 4).ok());
  }
  const Bytes bytes = Read(y, 4 * 300);
  for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], static_cast<uint8_t>(i / 4)) << i;
}

TEST_P(StreamTest, ReusesBlocksWithPendingCommands) {
  std::byte* target = Allocate(8 * 100);
  for (int i = 0; i < 100; ++i) {
    std::byte* x = Allocate(1000);
    Write(x, Bytes(1000, static_cast<uint8_t>(i)));
    ASSERT_TRUE(stream_->Copy(target + 8 * i, x, 8).ok());
    ASSERT_TRUE(stream_->Free(x).ok());
  }
  const Bytes bytes = Read(target, 8 * 100);
  for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], i / 8) << i;
  EXPECT_EQ(stream_->Stats().segments.current, 1u);
}

TEST_P(StreamTest, HasEvents) {
  EXPECT_TRUE(ValueOf(stream_->IsDone(0)));
  std::byte* x = Allocate(kMiB);
  ASSERT_TRUE(stream_->Fill(x, kMiB, 3, 1).ok());
  const uint64_t event = stream_->last_command();
  EXPECT_GT(event, 0u);
  ASSERT_TRUE(stream_->Wait(event).ok());
  EXPECT_TRUE(ValueOf(stream_->IsDone(event)));
  EXPECT_TRUE(ValueOf(stream_->IsDone(UINT64_MAX)));
  EXPECT_GT(stream_->Stats().submissions, 0u);
}

TEST_P(StreamTest, NamesWrongRanges) {
  std::byte* x = Allocate(100);
  Bytes bytes(2000);
  EXPECT_EQ(stream_->Write(bytes.data(), x, 4).message(),
            "`target` is not a device address in a block of this stream.");
  EXPECT_EQ(stream_->Read(bytes.data(), bytes.data(), 4).message(),
            "`source` is not a device address in a block of this stream.");
  EXPECT_EQ(stream_->Write(x + 12, bytes.data(), 2000).message(),
            "The 2000 bytes at `target` exceed its block, which has 500 bytes from there.");
  EXPECT_THAT(stream_->Free(x + 1).message(), HasSubstr("is not that of a block"));
  EXPECT_THAT(stream_->Find(&bytes).status().message(), HasSubstr("is not in a block"));
  EXPECT_EQ(ValueOf(stream_->Find(x + 100)).address, x);
  EXPECT_EQ(ValueOf(stream_->Find(x + 100)).size, 512u);
  ASSERT_TRUE(stream_->Free(x).ok());
  EXPECT_FALSE(stream_->Free(x).ok());
  EXPECT_TRUE(stream_->Free(nullptr).ok());
  EXPECT_TRUE(stream_->Write(nullptr, nullptr, 0).ok());
}

TEST_P(StreamTest, ReleasesCachedSegmentsBeforeItFails) {
  StreamState limited(runtime_->state(), {.memory_limit = 24 * kMiB}, GetParam());
  void* large = ValueOf(limited.Allocate(2 * kMiB));
  ASSERT_TRUE(limited.Fill(large, kMiB, 0, 1).ok());
  ASSERT_TRUE(limited.Free(large).ok());
  (void)ValueOf(limited.Allocate(22 * kMiB));
  EXPECT_EQ(limited.Stats().retries, 1u);
  const Status failed = limited.Allocate(5 * kMiB).status();
  EXPECT_EQ(failed.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(failed.message(), HasSubstr("exceeds StreamOptions::memory_limit (25165824 bytes)"));
  EXPECT_THAT(failed.message(), HasSubstr("\n - While allocating 5242880 bytes on '"));
  EXPECT_EQ(limited.Stats().out_of_memory, 1u);
}

TEST_P(StreamTest, EmptiesItsCache) {
  void* x = Allocate(kMiB);
  ASSERT_TRUE(stream_->Fill(x, kMiB, 1, 1).ok());
  ASSERT_TRUE(stream_->Free(x).ok());
  EXPECT_EQ(stream_->Stats().segment_bytes.current, 2 * kMiB);
  ASSERT_TRUE(stream_->EmptyCache().ok());
  EXPECT_EQ(stream_->Stats().segment_bytes.current, 0u);
  EXPECT_EQ(stream_->Stats().segment_bytes.peak, 2 * kMiB);
  stream_->ResetPeaks();
  EXPECT_EQ(stream_->Stats().segment_bytes.peak, 0u);
  stream_->ResetTotals();
  EXPECT_EQ(stream_->Stats().blocks.increased, 0u);
}

TEST_P(StreamTest, AllocatesNothingInASteadyLoop) {
  const auto step = [&] {
    std::byte* x = Allocate(10'000);
    std::byte* y = Allocate(10'000);
    Write(x, Pattern(10'000));
    ASSERT_TRUE(stream_->Copy(y, x, 10'000).ok());
    EXPECT_EQ(Read(y, 10'000), Pattern(10'000));
    ASSERT_TRUE(stream_->Free(x).ok());
    ASSERT_TRUE(stream_->Free(y).ok());
  };
  step();
  const auto& allocations = runtime_->state()->device->counters().memory_allocations;
  const uint64_t before = allocations;
  for (int i = 0; i < 50; ++i) step();
  EXPECT_EQ(allocations, before);
}

TEST_P(StreamTest, IsSafeAgainstThreads) {
  std::vector<std::thread> threads;
  for (uint8_t id = 0; id < 4; ++id) {
    threads.emplace_back([this, id] {
      for (size_t i = 0; i < 40; ++i) {
        const size_t size = 100 + 999 * (i % 7);
        std::byte* x = Allocate(size);
        std::byte* y = Allocate(size);
        const Bytes bytes = Pattern(size, id);
        Write(x, bytes);
        EXPECT_TRUE(stream_->Copy(y, x, size).ok());
        EXPECT_TRUE(stream_->Free(x).ok());
        EXPECT_EQ(Read(y, size), bytes);
        EXPECT_TRUE(stream_->Free(y).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stream_->Stats().blocks.current, 0u);
}

TEST_P(StreamTest, HidesDeviceMemoryFromTheHost) {
#ifdef __unix__
  const std::byte* x = Allocate(16);
  EXPECT_DEATH((void)*static_cast<const volatile std::byte*>(x), "");
#else
  GTEST_SKIP() << "Death tests require fork().";
#endif
}

// A stream keeps the device alive, and waits for it.
TEST(Stream, OutlivesItsRuntime) {
  if (!IsAvailable()) GTEST_SKIP() << "There is no Vulkan device.";
  std::optional<Runtime> runtime = ValueOf(Runtime::Create({.cache_dir = "none"}));
  Stream stream = ValueOf(Stream::Create(*runtime));
  runtime.reset();
  void* x = ValueOf(stream.Allocate(64));
  ASSERT_TRUE(stream.Fill(x, 64, 9, 1).ok());
  Bytes bytes(64);
  ASSERT_TRUE(stream.Read(bytes.data(), x, 64).ok());
  EXPECT_THAT(bytes, Each(9));
  ASSERT_TRUE(stream.Synchronize().ok());
  ASSERT_TRUE(stream.Fill(x, 64, 8, 1).ok());  // pending in the destructor
  ASSERT_TRUE(stream.Submit().ok());
}

}  // namespace
}  // namespace spirloom::internal
