// The persistent pipeline cache: valid, missing, corrupt and foreign files.
#include "runtime/vulkan/pipeline_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/base/cache_file.h"
#include "runtime/vulkan/pipeline.h"
#include "tests/unit/runtime/device_fixture.h"
#include "tests/value_of.h"

namespace spirloom::vulkan {
namespace {

using Bytes = std::vector<std::byte>;

class PipelineCacheTest : public testing::DeviceTest {
 protected:
  // Creates a pipeline through a cache in `folder`, and saves it.
  void FillAndSave(const std::string& folder) {
    auto cache = PipelineCache::Create(device(), folder);
    ASSERT_TRUE(cache.ok()) << cache.status().message();
    LayoutCache layouts(device());
    constexpr std::array kBindings = {pack::BindingType::kStorageBuffer,
                                      pack::BindingType::kStorageBuffer};
    const auto spirv = testing::ScaleShader();
    const auto pipeline = ComputePipeline::Create(device(), layouts, cache->handle(),
                                                  {.name = "scale",
                                                   .module = pack::StoredModule::Raw(spirv),
                                                   .bindings = kBindings,
                                                   .push_bytes = 4,
                                                   .workgroup = {8, 1, 1},
                                                   .constants = {1}});
    ASSERT_TRUE(pipeline.ok()) << pipeline.status().message();
    EXPECT_TRUE(cache->Save().ok());
  }

  // The size that a new cache in `folder` takes from its file.
  size_t LoadedSize(const std::string& folder) {
    return ValueOf(PipelineCache::Create(device(), folder)).loaded_size();
  }

  std::string Path(const std::string& folder) {
    return ValueOf(PipelineCache::Create(device(), folder)).path();
  }
};

TEST_F(PipelineCacheTest, LivesInAFile) {
  const std::string folder = testing::MakeTestFolder() + "/not/yet/there";
  EXPECT_EQ(LoadedSize(folder), 0U);
  FillAndSave(folder);
  EXPECT_GE(LoadedSize(folder), sizeof(VkPipelineCacheHeaderVersionOne));
  EXPECT_TRUE(IsOwnPipelineCache(device().physical(), ReadCacheFile(Path(folder))));
}

TEST_F(PipelineCacheTest, IsWrittenOnlyWhenItGrew) {
  const std::string folder = testing::MakeTestFolder();
  FillAndSave(folder);
  const std::string path = Path(folder);
  const auto old_time = std::filesystem::last_write_time(path) - std::chrono::hours(1);
  std::filesystem::last_write_time(path, old_time);
  auto cache = PipelineCache::Create(device(), folder);
  ASSERT_TRUE(cache.ok());
  ASSERT_TRUE(cache->Save().ok());
  EXPECT_EQ(std::filesystem::last_write_time(path), old_time);
}

TEST_F(PipelineCacheTest, IgnoresAndReplacesACorruptFile) {
  const std::string folder = testing::MakeTestFolder();
  FillAndSave(folder);
  const std::string path = Path(folder);
  const size_t good = LoadedSize(folder);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_EQ(LoadedSize(folder), 0U);
  std::ofstream(path, std::ios::binary) << "not a pipeline cache at all, and short";
  EXPECT_EQ(LoadedSize(folder), 0U);
  FillAndSave(folder);
  EXPECT_EQ(LoadedSize(folder), good);
}

TEST_F(PipelineCacheTest, IgnoresAForeignFile) {
  const std::string folder = testing::MakeTestFolder();
  FillAndSave(folder);
  const std::string path = Path(folder);
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
    EXPECT_EQ(LoadedSize(folder), 0U) << field;
  }
  EXPECT_FALSE(IsOwnPipelineCache(device().physical(), std::span(own).first(31)));
  EXPECT_FALSE(IsOwnPipelineCache(device().physical(), {}));
}

TEST_F(PipelineCacheTest, DoesWithoutAFolder) {
  auto in_memory = PipelineCache::Create(device(), "");
  ASSERT_TRUE(in_memory.ok());
  EXPECT_TRUE(in_memory->path().empty());
  EXPECT_TRUE(in_memory->Save().ok());
  const std::string file = testing::MakeTestFolder() + "/file";
  std::ofstream(file) << "in the way";
  FillAndSave(file + "/folder");
  EXPECT_EQ(LoadedSize(file + "/folder"), 0U);
}

TEST(DefaultCacheFolder, FollowsTheEnvironment) {
  const auto get = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string cache = get("XDG_CACHE_HOME");
  const std::string home = get("HOME");
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(DefaultCacheFolder(), "/somewhere/spirloom");
  setenv("XDG_CACHE_HOME", "not/absolute", 1);
  EXPECT_EQ(DefaultCacheFolder(), "/home/me/.cache/spirloom");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(DefaultCacheFolder(), "/home/me/.cache/spirloom");
  unsetenv("HOME");
  EXPECT_EQ(DefaultCacheFolder(), "");
  if (!cache.empty()) setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace spirloom::vulkan
