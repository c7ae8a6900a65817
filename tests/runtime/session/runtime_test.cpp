// The public Runtime: devices, options and errors.
#include "spirloom/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/base/host.h"
#include "runtime/session/runtime_state.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/fence.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/device_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using ::testing::HasSubstr;

class RuntimeTest : public testing::DeviceTest {};

TEST_F(RuntimeTest, IsAvailableWithADevice) {
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
  EXPECT_EQ(runtime.state()->device->capabilities(), 0U);  // without libraries
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

TEST_F(RuntimeTest, RejectsAnUnknownDevice) {
  const Status status = Runtime::Create({.device = "no such GPU", .cache_dir = "none"}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'no such GPU'"));
  EXPECT_THAT(status.message(), HasSubstr("0: " + ValueOf(ListDevices())[0].name));
}

TEST_F(RuntimeTest, TheEnvironmentSelectsADeviceUnlessTheOptionDoes) {
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

TEST_F(RuntimeTest, RejectsAnInvalidLibraryBeforeVulkanIsInitialized) {
  const Status status = Runtime::Create({.libraries = {nullptr}}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST_F(RuntimeTest, SeveralThreadsCreateRuntimes) {
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
  EXPECT_TRUE(vulkan::Fence::Create(*state->device).ok());
}

TEST_F(RuntimeTest, LogsTheDeviceAndCacheErrors) {
  std::vector<std::string> log;
  const std::string file = testing::MakeTestDirectory() + "/file";
  std::ofstream(file) << "not a directory";
  const auto runtime = Runtime::Create(
      {.cache_dir = file, .log = [&](LogLevel level, std::string_view text) {
         log.push_back((level == LogLevel::kInfo ? "info " : "warning ") + std::string(text));
       }});
  ASSERT_TRUE(runtime.ok());
  EXPECT_THAT(log,
              ::testing::ElementsAre(HasSubstr("info Selected device: " + runtime->device().name)));
  runtime->state()->tuning->Add({{"call", "kernel"}});
  EXPECT_THAT(log.back(), HasSubstr("warning Tuning results cannot be written to '" + file));
}

TEST_F(RuntimeTest, LimitsAndCountsDeviceMemory) {
  const auto runtime = Runtime::Create({.cache_dir = "none", .memory_limit = 1 << 20});
  ASSERT_TRUE(runtime.ok());
  const auto create = [&](uint64_t size) {
    return vulkan::Buffer::Create(*runtime->state()->device, size, vulkan::MemoryUse::kDevice);
  };
  {
    const auto buffer = create(1 << 19);
    ASSERT_TRUE(buffer.ok());
    EXPECT_GE(runtime->memory().in_use, 1U << 19);
    const Status status = create(1 << 20).status();
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(status.message(),
                HasSubstr("exceeds RuntimeOptions::memory_limit (1048576 bytes)"));
    EXPECT_LT(runtime->memory().in_use, 1U << 20);
  }
  EXPECT_EQ(runtime->memory().in_use, 0U);
  EXPECT_GE(runtime->memory().peak, 1U << 19);
  EXPECT_EQ(runtime->memory().limit, 1U << 20);
}

TEST_F(RuntimeTest, UsesTheHostAllocator) {
  CountingAllocator allocator;
  const auto runtime = Runtime::Create({.cache_dir = "none", .allocator = &allocator.callbacks});
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  const int before = allocator.calls;
  EXPECT_GT(before, 0);
  ASSERT_TRUE(
      vulkan::Buffer::Create(*runtime->state()->device, 256, vulkan::MemoryUse::kDevice).ok());
  EXPECT_GT(allocator.calls, before);
}

TEST_F(RuntimeTest, WorkRunsOnTheThreadsOfTheApplication) {
  int calls = 0;
  const auto runtime =
      Runtime::Create({.cache_dir = "none",
                       .parallel_for = [&](size_t count, const std::function<void(size_t)>& work) {
                         ++calls;
                         for (size_t i = count; i > 0; --i) work(i - 1);
                       }});
  ASSERT_TRUE(runtime.ok());
  std::vector<size_t> order;
  const auto work = [&](size_t i) -> Status {
    order.push_back(i);
    if (i == 2) return Status();
    return Error(StatusCode::kInternal, "Index {} fails.", i);
  };
  const Host& host = runtime->state()->device->host();
  EXPECT_EQ(host.ParallelFor(3, work).message(), "Index 1 fails.");
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(order, ::testing::ElementsAre(2, 1, 0));
  EXPECT_FALSE(host.ParallelFor(1, work).ok());
  EXPECT_EQ(calls, 1) << "a single index runs on the calling thread";
}

TEST(Host, LimitsTheNumberOfThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto work = [&](size_t) {
    const std::scoped_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    return Status();
  };
  EXPECT_TRUE(Host{.threads = 1}.ParallelFor(64, work).ok());
  EXPECT_TRUE(Host{.threads = 8}.ParallelFor(64, work, /*max_threads=*/1).ok());
  EXPECT_THAT(threads, ::testing::ElementsAre(std::this_thread::get_id()));
}

// An intended validation error, on another instance than that of the fixture.
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

TEST_F(RuntimeTest, ValidationMessagesGoToTheLog) {
  std::vector<std::string> log;
  const auto runtime = Runtime::Create(
      {.cache_dir = "none", .validation = true, .log = [&](LogLevel level, std::string_view text) {
         if (level == LogLevel::kError) log.emplace_back(text);
       }});
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  const vulkan::Device& device = *runtime->state()->device;
  ::testing::internal::CaptureStderr();
  const VkFence none = VK_NULL_HANDLE;  // not allowed
  (void)device.fn().vkResetFences(device.handle(), 0, &none);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(log, ::testing::Contains(HasSubstr("vulkan validation: ")));
}

}  // namespace
}  // namespace spirloom
