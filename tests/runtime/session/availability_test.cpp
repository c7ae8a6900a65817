// Machines without a loader, driver or validation layer, simulated in child processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "spirloom/runtime.h"
#include "tests/support/device_fixture.h"

namespace spirloom {
namespace {

using ::testing::HasSubstr;

// Runs the disabled test `name` in a child process with the environment variables; returns its exit
// status.
int RunChild(const std::string& name, const std::string& environment) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "env " + environment + " '" + program +
                              "' --gtest_also_run_disabled_tests --gtest_brief=1 "
                              "--gtest_filter=AvailabilityChild.DISABLED_" +
                              name + " > /dev/null";
  return std::system(command.c_str());
}

TEST(AvailabilityChild, DISABLED_WithoutADriver) {
  EXPECT_FALSE(IsAvailable());
  const Status status = Runtime::Create({.cache_dir = "none"}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("mesa-vulkan-drivers"));
}

TEST(AvailabilityChild, DISABLED_WithoutALoader) {
  EXPECT_FALSE(IsAvailable());
  EXPECT_FALSE(ListDevices().ok());
  const Status status = Runtime::Create({.cache_dir = "none"}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("No Vulkan loader"));
}

TEST(AvailabilityChild, DISABLED_WithoutTheLayer) {
  const Status status = Runtime::Create({.cache_dir = "none", .validation = true}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("VK_LAYER_KHRONOS_validation"));
}

TEST(Availability, NoDriver) {
  EXPECT_EQ(RunChild("WithoutADriver", "VK_ICD_FILENAMES=/nowhere VK_DRIVER_FILES=/nowhere"), 0);
}

TEST(Availability, NoLoader) {
  // The dynamic linker fails at the first file of this name, which is not a library.
  const std::string directory = testing::MakeTestDirectory();
  std::ofstream(directory + "/libvulkan.so.1") << "";
  std::ofstream(directory + "/libvulkan.so") << "";
  EXPECT_EQ(RunChild("WithoutALoader", "LD_LIBRARY_PATH='" + directory + "'"), 0);
}

TEST(Availability, NoValidationLayer) {
  EXPECT_EQ(RunChild("WithoutTheLayer", "VK_LAYER_PATH=/nowhere"), 0);
}

}  // namespace
}  // namespace spirloom
