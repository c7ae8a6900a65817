// Cache files: round trips; damaged files are ignored.
#include "runtime/base/cache_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace spirloom::vulkan {
namespace {

using Bytes = std::vector<std::byte>;

// Each test has its own directory, removed afterwards.
class CacheFileTest : public testing::Test {
 protected:
  CacheFileTest() {
    directory_ = testing::TempDir() + "spirloom_cache_file_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    path_ = directory_ + "/missing/directory/cache.bin";
  }
  ~CacheFileTest() override { std::filesystem::remove_all(directory_); }

  std::string ReadAll() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void WriteAll(const std::string& text) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
  }

  std::string directory_;
  std::string path_;
  const Bytes payload_ = Bytes(1000, std::byte{7});
};

TEST_F(CacheFileTest, RoundTrip) {
  EXPECT_TRUE(ReadCacheFile(path_).empty());
  EXPECT_TRUE(WriteCacheFile(path_, payload_));
  EXPECT_EQ(ReadCacheFile(path_), payload_);
  EXPECT_TRUE(WriteCacheFile(path_, Bytes(3)));
  EXPECT_EQ(ReadCacheFile(path_), Bytes(3));
}

TEST_F(CacheFileTest, LeavesNoTemporaryFiles) {
  ASSERT_TRUE(WriteCacheFile(path_, payload_));
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 1U);
}

TEST_F(CacheFileTest, IgnoresEveryTruncation) {
  ASSERT_TRUE(WriteCacheFile(path_, Bytes(40, std::byte{1})));
  const std::string contents = ReadAll();
  for (size_t size = 0; size < contents.size(); ++size) {
    WriteAll(contents.substr(0, size));
    EXPECT_TRUE(ReadCacheFile(path_).empty()) << size;
  }
  WriteAll(contents + "x");
  EXPECT_TRUE(ReadCacheFile(path_).empty());
}

TEST_F(CacheFileTest, IgnoresEveryAlteredByte) {
  ASSERT_TRUE(WriteCacheFile(path_, Bytes(40, std::byte{1})));
  const std::string contents = ReadAll();
  for (size_t i = 0; i < contents.size(); ++i) {
    std::string altered = contents;
    altered[i] = static_cast<char>(altered[i] ^ 0x40);
    WriteAll(altered);
    EXPECT_TRUE(ReadCacheFile(path_).empty()) << i;
  }
}

TEST_F(CacheFileTest, ReportsThatItCannotWrite) {
  std::filesystem::create_directories(directory_);
  std::ofstream(directory_ + "/missing") << "a file instead of a directory";
  EXPECT_FALSE(WriteCacheFile(path_, payload_));
  EXPECT_TRUE(ReadCacheFile(path_).empty());
}

// A sparse file, whose header claims 64 GiB of payload.
TEST_F(CacheFileTest, IgnoresAHugeFile) {
  ASSERT_TRUE(WriteCacheFile(path_, Bytes(40, std::byte{1})));
  constexpr uint64_t kSize = uint64_t{64} << 30;
  std::string header = ReadAll().substr(0, 24);
  const uint64_t payload = kSize - header.size();
  std::memcpy(header.data() + 8, &payload, sizeof(payload));
  WriteAll(header);
  std::filesystem::resize_file(path_, kSize);
  EXPECT_TRUE(ReadCacheFile(path_).empty());
}

TEST_F(CacheFileTest, ConcurrentWritersLeaveACompleteFile) {
  {
    std::vector<std::jthread> writers;
    for (int i = 1; i <= 4; ++i) {
      writers.emplace_back([this, i] {
        for (int k = 0; k < 20; ++k) WriteCacheFile(path_, Bytes(5000, static_cast<std::byte>(i)));
      });
    }
  }
  const Bytes read = ReadCacheFile(path_);
  ASSERT_EQ(read.size(), 5000U);
  EXPECT_EQ(read, Bytes(5000, read[0]));
}

}  // namespace
}  // namespace spirloom::vulkan
