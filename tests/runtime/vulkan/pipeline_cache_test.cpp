// The persistent pipeline cache: valid, missing and corrupt files, and files of other devices.
#include "runtime/vulkan/pipeline_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/base/cache_file.h"
#include "runtime/vulkan/pipeline.h"
#include "tests/support/device_fixture.h"
#include "tests/value_of.h"

namespace spirloom::vulkan {
namespace {

using Bytes = std::vector<std::byte>;

class PipelineCacheTest : public testing::DeviceTest {
 protected:
  // Creates a pipeline with a cache in `directory`, and saves the cache.
  void FillAndSave(const std::string& directory) {
    auto cache = PipelineCache::Create(device(), directory);
    ASSERT_TRUE(cache.ok()) << cache.status().message();
    LayoutCache layouts(device());
    constexpr std::array kTwoBuffers = {pack::BindingType::kStorageBuffer,
                                        pack::BindingType::kStorageBuffer};
    const auto spirv = testing::ScaleShader();
    const auto pipeline = ComputePipeline::Create(device(), layouts, cache->handle(),
                                                  {.name = "scale",
                                                   .module = pack::StoredModule::Raw(spirv),
                                                   .bindings = kTwoBuffers,
                                                   .push_bytes = 4,
                                                   .workgroup = {8, 1, 1},
                                                   .constants = {1}});
    ASSERT_TRUE(pipeline.ok()) << pipeline.status().message();
    EXPECT_TRUE(cache->Save().ok());
  }

  // The number of bytes that a new cache loads from `directory`.
  size_t LoadedSize(const std::string& directory) {
    return ValueOf(PipelineCache::Create(device(), directory)).loaded_size();
  }

  // Whether the driver's cache is longer than the data from which it was created (SwiftShader's).
  bool GrowsWhenLoaded(const std::string& directory) {
    const PipelineCache cache = ValueOf(PipelineCache::Create(device(), directory));
    size_t size = 0;
    EXPECT_EQ(device().fn().vkGetPipelineCacheData(device().handle(), cache.handle(), &size,
                                                   /*pData=*/nullptr),
              VK_SUCCESS);
    return size > cache.loaded_size();
  }

  std::string Path(const std::string& directory) {
    return ValueOf(PipelineCache::Create(device(), directory)).path();
  }
};

TEST_F(PipelineCacheTest, IsStoredInAFile) {
  const std::string directory = testing::MakeTestDirectory() + "/missing/directory";
  EXPECT_EQ(LoadedSize(directory), 0U);
  FillAndSave(directory);
  EXPECT_GE(LoadedSize(directory), sizeof(VkPipelineCacheHeaderVersionOne));
  EXPECT_TRUE(IsOwnPipelineCache(device().physical(), ReadCacheFile(Path(directory))));
}

TEST_F(PipelineCacheTest, IsWrittenOnlyIfItGrew) {
  const std::string directory = testing::MakeTestDirectory();
  FillAndSave(directory);
  if (GrowsWhenLoaded(directory))
    GTEST_SKIP() << "driver: a cache is longer than the data from which it is created";
  const std::string path = Path(directory);
  const auto old_time = std::filesystem::last_write_time(path) - std::chrono::hours(1);
  std::filesystem::last_write_time(path, old_time);
  auto cache = PipelineCache::Create(device(), directory);
  ASSERT_TRUE(cache.ok());
  ASSERT_TRUE(cache->Save().ok());
  EXPECT_EQ(std::filesystem::last_write_time(path), old_time);
}

TEST_F(PipelineCacheTest, IgnoresAndReplacesACorruptFile) {
  const std::string directory = testing::MakeTestDirectory();
  FillAndSave(directory);
  const std::string path = Path(directory);
  const size_t size = LoadedSize(directory);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_EQ(LoadedSize(directory), 0U);
  std::ofstream(path, std::ios::binary) << "not a pipeline cache";
  EXPECT_EQ(LoadedSize(directory), 0U);
  FillAndSave(directory);
  EXPECT_EQ(LoadedSize(directory), size);
}

TEST_F(PipelineCacheTest, IgnoresAFileOfAnotherDevice) {
  const std::string directory = testing::MakeTestDirectory();
  FillAndSave(directory);
  const std::string path = Path(directory);
  const Bytes own = ReadCacheFile(path);
  for (size_t field : {offsetof(VkPipelineCacheHeaderVersionOne, vendorID),
                       offsetof(VkPipelineCacheHeaderVersionOne, deviceID),
                       offsetof(VkPipelineCacheHeaderVersionOne, headerVersion),
                       offsetof(VkPipelineCacheHeaderVersionOne, headerSize),
                       offsetof(VkPipelineCacheHeaderVersionOne, pipelineCacheUUID) + 15}) {
    Bytes foreign = own;
    foreign[field] ^= std::byte{0x80};
    EXPECT_FALSE(IsOwnPipelineCache(device().physical(), foreign)) << field;
    ASSERT_TRUE(WriteCacheFile(path, foreign));
    EXPECT_EQ(LoadedSize(directory), 0U) << field;
  }
  EXPECT_FALSE(IsOwnPipelineCache(device().physical(), std::span(own).first(31)));
  EXPECT_FALSE(IsOwnPipelineCache(device().physical(), {}));
}

TEST_F(PipelineCacheTest, DoesNotRequireADirectory) {
  auto in_memory = PipelineCache::Create(device(), "");
  ASSERT_TRUE(in_memory.ok());
  EXPECT_TRUE(in_memory->path().empty());
  EXPECT_TRUE(in_memory->Save().ok());
  const std::string file = testing::MakeTestDirectory() + "/file";
  std::ofstream(file) << "not a directory";
  FillAndSave(file + "/directory");
  EXPECT_EQ(LoadedSize(file + "/directory"), 0U);
}

TEST(DefaultCacheDirectory, FollowsTheEnvironment) {
  const auto get = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string cache = get("XDG_CACHE_HOME");
  const std::string home = get("HOME");
  setenv("XDG_CACHE_HOME", "/cache", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(DefaultCacheDirectory(), "/cache/spirloom");
  setenv("XDG_CACHE_HOME", "relative/path", 1);
  EXPECT_EQ(DefaultCacheDirectory(), "/home/me/.cache/spirloom");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(DefaultCacheDirectory(), "/home/me/.cache/spirloom");
  unsetenv("HOME");
  EXPECT_EQ(DefaultCacheDirectory(), "");
  if (!cache.empty()) setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace spirloom::vulkan
