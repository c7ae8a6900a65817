// Streams in the C API, on the default device with validation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/c_api/c_model_fixture.h"

namespace spirloom::c {
namespace {

using ::testing::HasSubstr;

using OwnedStream = Owned<spirloom_stream, spirloom_stream_destroy>;

class CStreamTest : public CModelTest {
 protected:
  OwnedStream Create(const spirloom_stream_options* options = nullptr) {
    spirloom_stream* stream = nullptr;
    EXPECT_EQ(Call(spirloom_stream_create, runtime_.get(), options, &stream).message, "");
    return OwnedStream(stream);
  }

  static char* Allocate(const OwnedStream& stream, size_t size) {
    void* address = nullptr;
    EXPECT_EQ(Call(spirloom_stream_allocate, stream.get(), size, &address).message, "");
    return static_cast<char*>(address);
  }
};

TEST_F(CStreamTest, CopiesAndFills) {
  const OwnedStream stream = Create();
  char* x = Allocate(stream, 1000);
  char* y = Allocate(stream, 1000);
  const std::vector<float> given = {1, 2, 3, 4};
  const void* source = given.data();
  ASSERT_EQ(Call(spirloom_stream_write, stream.get(), x, source, size_t{16}).message, "");
  ASSERT_EQ(Call(spirloom_stream_fill, stream.get(), y, size_t{1000}, 0u, size_t{4}).message, "");
  ASSERT_EQ(Call(spirloom_stream_copy, stream.get(), y + 8, x, size_t{16}).message, "");
  std::vector<float> read(7, -1);
  void* target = read.data();
  ASSERT_EQ(Call(spirloom_stream_read, stream.get(), target, y, size_t{28}).message, "");
  EXPECT_EQ(read, (std::vector<float>{0, 0, 1, 2, 3, 4, 0}));
}

TEST_F(CStreamTest, HasEventsAndStatistics) {
  const OwnedStream stream = Create();
  EXPECT_EQ(spirloom_stream_last_command(stream.get()), 0u);
  char* x = Allocate(stream, 1000);
  ASSERT_EQ(Call(spirloom_stream_fill, stream.get(), x, size_t{1000}, 1u, size_t{1}).message, "");
  const uint64_t event = spirloom_stream_last_command(stream.get());
  ASSERT_EQ(Call(spirloom_stream_submit, stream.get()).message, "");
  ASSERT_EQ(Call(spirloom_stream_wait, stream.get(), event).message, "");
  bool done = false;
  ASSERT_EQ(Call(spirloom_stream_is_done, stream.get(), event, &done).message, "");
  EXPECT_TRUE(done);

  spirloom_bytes block{};
  const void* inside = x + 10;
  ASSERT_EQ(Call(spirloom_stream_find, stream.get(), inside, &block).message, "");
  EXPECT_EQ(block.data, x);
  EXPECT_EQ(block.size, 1024u);

  ASSERT_EQ(Call(spirloom_stream_free, stream.get(), x).message, "");
  ASSERT_EQ(Call(spirloom_stream_empty_cache, stream.get()).message, "");
  spirloom_stream_stats stats = SPIRLOOM_INIT(spirloom_stream_stats);
  ASSERT_EQ(Call(spirloom_stream_memory, stream.get(), &stats).message, "");
  EXPECT_EQ(stats.blocks[SPIRLOOM_STREAM_CURRENT], 0u);
  EXPECT_EQ(stats.blocks[SPIRLOOM_STREAM_PEAK], 1u);
  EXPECT_EQ(stats.requested_bytes[SPIRLOOM_STREAM_INCREASED], 1000u);
  EXPECT_EQ(stats.block_bytes[SPIRLOOM_STREAM_DECREASED], 1024u);
  EXPECT_EQ(stats.segments[SPIRLOOM_STREAM_CURRENT], 0u);
  EXPECT_EQ(stats.submissions, 1u);
  spirloom_stream_reset_peaks(stream.get());
  spirloom_stream_reset_totals(stream.get());
  ASSERT_EQ(Call(spirloom_stream_memory, stream.get(), &stats).message, "");
  EXPECT_EQ(stats.blocks[SPIRLOOM_STREAM_PEAK], 0u);
  EXPECT_EQ(stats.requested_bytes[SPIRLOOM_STREAM_INCREASED], 0u);
}

TEST_F(CStreamTest, ReportsErrors) {
  spirloom_stream_options options = SPIRLOOM_INIT(spirloom_stream_options);
  options.memory_limit = 1;
  const OwnedStream stream = Create(&options);
  void* address = &address;
  const Outcome failed = Call(spirloom_stream_allocate, stream.get(), size_t{1}, &address);
  EXPECT_EQ(failed.status, SPIRLOOM_OUT_OF_MEMORY);
  EXPECT_EQ(address, nullptr);
  char host[4] = {};
  void* target = host;
  const void* source = host;
  EXPECT_EQ(Call(spirloom_stream_write, stream.get(), target, source, size_t{4}).status,
            SPIRLOOM_INVALID_ARGUMENT);
  const void* none = nullptr;
  EXPECT_THAT(Call(spirloom_stream_write, stream.get(), target, none, size_t{4}).message,
              HasSubstr("`source`"));
  EXPECT_THAT(Call(spirloom_stream_submit, static_cast<spirloom_stream*>(nullptr)).message,
              HasSubstr("`stream`"));
  spirloom_bytes block{};
  EXPECT_EQ(Call(spirloom_stream_find, stream.get(), source, &block).status, SPIRLOOM_NOT_FOUND);
  EXPECT_EQ(spirloom_stream_last_command(nullptr), 0u);
  spirloom_stream_destroy(nullptr);
}

}  // namespace
}  // namespace spirloom::c
