// The public Runtime: devices, options and errors.
#include "spirloom/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "runtime/session/runtime_state.h"
#include "tests/unit/runtime/device_fixture.h"

namespace spirloom {
namespace {

using ::testing::HasSubstr;

class RuntimeTest : public testing::DeviceTest {};

TEST_F(RuntimeTest, IsAvailableHere) {
  EXPECT_TRUE(IsAvailable());
  const auto devices = ListDevices();
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  EXPECT_FALSE(devices->empty());
}

TEST_F(RuntimeTest, CreatesWithValidation) {
  auto created = Runtime::Create({.cache_dir = "none", .validation = true});
  ASSERT_TRUE(created.ok()) << created.status().message();
  const Runtime runtime = std::move(created).value();
  EXPECT_TRUE(runtime.device().usable);
  EXPECT_EQ(runtime.validation_message_count(), 0U);
  EXPECT_EQ(runtime.state()->pipeline_cache->path(), "");
  runtime.state()->SavePipelineCache();
  EXPECT_TRUE(runtime.state()->index.ops().empty());
  EXPECT_EQ(runtime.state()->device->capabilities(), 0U);  // no variant needs any
}

TEST_F(RuntimeTest, SelectsByIndexAndName) {
  const auto devices = ListDevices();
  ASSERT_TRUE(devices.ok());
  for (size_t i = 0; i < devices->size(); ++i) {
    if (!(*devices)[i].usable) continue;
    const auto by_index = Runtime::Create({.device = std::to_string(i), .cache_dir = "none"});
    ASSERT_TRUE(by_index.ok()) << by_index.status().message();
    EXPECT_EQ(by_index->device().name, (*devices)[i].name);
    const auto by_name = Runtime::Create({.device = (*devices)[i].name, .cache_dir = "none"});
    ASSERT_TRUE(by_name.ok()) << by_name.status().message();
  }
}

TEST_F(RuntimeTest, RefusesAnUnknownDevice) {
  const Status status = Runtime::Create({.device = "no such GPU", .cache_dir = "none"}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'no such GPU'"));
  EXPECT_THAT(status.message(), HasSubstr("0: " + (*ListDevices())[0].name));
}

TEST_F(RuntimeTest, EnvironmentNamesADeviceUnlessTheOptionDoes) {
  const char* old = std::getenv("SPIRLOOM_DEVICE");
  const std::string restore = old == nullptr ? "" : old;
  setenv("SPIRLOOM_DEVICE", "no such GPU", 1);
  const Status status = Runtime::Create({.cache_dir = "none"}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("SPIRLOOM_DEVICE"));
  EXPECT_TRUE(Runtime::Create({.device = device().physical().info.name, .cache_dir = "none"}).ok());
  setenv("SPIRLOOM_DEVICE", restore.c_str(), 1);
  EXPECT_TRUE(Runtime::Create({.cache_dir = "none"}).ok());
}

TEST_F(RuntimeTest, RefusesABadLibraryBeforeTouchingVulkan) {
  const Status status = Runtime::Create({.libraries = {nullptr}}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST_F(RuntimeTest, SeveralThreadsCreateThem) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] { EXPECT_TRUE(Runtime::Create({.cache_dir = "none"}).ok()); });
  }
}

TEST_F(RuntimeTest, ModelsKeepTheStateAlive) {
  auto created = Runtime::Create({.cache_dir = "none"});
  ASSERT_TRUE(created.ok());
  std::shared_ptr<internal::RuntimeState> state;
  {
    const Runtime runtime = std::move(created).value();
    state = runtime.state();
  }
  EXPECT_TRUE(state->device->WaitIdle().ok());
}

// A mistake on purpose: the layer's message is counted. Not on the fixture's instance.
TEST_F(RuntimeTest, CountsValidationMessages) {
  const auto runtime = Runtime::Create({.cache_dir = "none", .validation = true});
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  const vulkan::Device& device = *runtime->state()->device;
  ::testing::internal::CaptureStderr();
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = 0;  // not allowed
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  if (device.fn().vkCreateBuffer(device.handle(), &info, nullptr, &buffer) == VK_SUCCESS) {
    device.fn().vkDestroyBuffer(device.handle(), buffer, nullptr);
  }
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_GE(runtime->validation_message_count(), 1U);
  EXPECT_THAT(printed, HasSubstr("vulkan validation: "));
}

}  // namespace
}  // namespace spirloom
