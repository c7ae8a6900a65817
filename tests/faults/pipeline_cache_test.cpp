// Damaged data of a driver are not written to the pipeline cache.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/faults/fault_fixture.h"
#include "tests/value_of.h"

namespace spirloom::faults {
namespace {

bool WritesACache(const std::string& directory) {
  std::filesystem::remove_all(directory);
  {
    const Runtime runtime = ValueOf(MakeRuntime(directory));
    ValueOf(UseModel(runtime, {.name = "any"}));
  }
  if (!std::filesystem::exists(directory)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with("pipelines-")) return true;
  }
  return false;
}

TEST(PipelineCacheFaults, IncompleteDataAreNotSaved) {
  if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  const std::string directory = ::testing::TempDir() + "incomplete_pipelines";
  EXPECT_TRUE(WritesACache(directory));
  // The second of two calls returns the data.
  Faults().set(
      {.first = 2, .count = 1000, .only = "vkGetPipelineCacheData", .code = VK_INCOMPLETE});
  const bool written = WritesACache(directory);
  EXPECT_NE(Faults().clear(), nullptr);
  EXPECT_FALSE(written);
}

}  // namespace
}  // namespace spirloom::faults
