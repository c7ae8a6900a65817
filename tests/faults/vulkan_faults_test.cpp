// Each Vulkan call fails once. The result is an error that names the function; nothing is leaked,
// and the runtime remains usable unless the device is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>

#include "runtime/session/runtime_state.h"
#include "tests/faults/fault_fixture.h"
#include "tests/value_of.h"

namespace spirloom::faults {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr VkResult kCodes[] = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                               VK_ERROR_INITIALIZATION_FAILED};

class VulkanFaultsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
    leaked_ = Faults().live();
    directory_ = testing::TempDir() + "spirloom_vulkan_faults";
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override {
    runtime_.reset();
    EXPECT_EQ(Faults().live(), leaked_);
    EXPECT_EQ(Faults().wrongly_destroyed(), 0U);
    std::filesystem::remove_all(directory_);
  }

  void Restart(bool validation = false) {
    runtime_.reset();
    Result<Runtime> made = MakeRuntime(directory_, validation);
    ASSERT_TRUE(made.ok()) << made.status().message();
    runtime_ = std::make_unique<Runtime>(std::move(made).value());
  }

  uint64_t AllocatedBytes() const { return runtime_->state()->device->counters().allocated_bytes; }

  // Uses the model while call `first` fails. Returns whether that call was reached.
  bool Try(const Use& use, uint64_t first, VkResult code, const std::vector<float>& expected) {
    const size_t live = Faults().live();
    Faults().set({.first = first, .code = code});
    const Result<std::vector<float>> used = UseModel(*runtime_, use);
    const char* failed = Faults().clear();
    if (failed == nullptr) return false;
    SCOPED_TRACE(testing::Message()
                 << use.name << ": call " << first << ", " << failed << ", fails "
                 << "with " << code);
    if (used.ok()) {
      EXPECT_TRUE(use.tune || *used == expected);
      ++tolerated_;
    } else {
      EXPECT_THAT(used.status().message(), HasSubstr(failed));
      ++reported_;
    }
    EXPECT_EQ(AllocatedBytes(), 0U);
    // The runtime may have cached further descriptor set layouts and pipeline layouts.
    EXPECT_LE(Faults().live(), live + 40);
    return true;
  }

  void TryEach(const Use& use, uint64_t step, const std::vector<float>& expected) {
    for (uint64_t first = 1;; first += step) {
      bool reached = true;
      for (size_t i = 0; i < (TryAll() ? std::size(kCodes) : 1); ++i) {
        reached = Try(use, first, kCodes[(first / step + i) % std::size(kCodes)], expected);
      }
      if (!reached || HasFailure()) break;
      if (TryAll() || first % 8 == 0) ExpectAgain(use, expected);
    }
    ExpectAgain(use, expected);
    std::printf("%s: %d faults reported, %d tolerated\n", use.name.c_str(), reported_, tolerated_);
    EXPECT_GT(reported_, 5);
  }

  void ExpectAgain(const Use& use, const std::vector<float>& expected) {
    const Result<std::vector<float>> again = UseModel(*runtime_, use);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_TRUE(use.tune || *again == expected);
  }

  void Sweep(const Use& use, uint64_t step, bool validation = false) {
    ASSERT_NO_FATAL_FAILURE(Restart(validation));
    const Result<std::vector<float>> expected = UseModel(*runtime_, use);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    TryEach(use, TryAll() ? 1 : step, *expected);
    EXPECT_EQ(runtime_->validation_message_count(), 0U);
  }

  std::string directory_;
  std::unique_ptr<Runtime> runtime_;
  size_t leaked_ = 0;  // objects leaked before the test
  int reported_ = 0;
  int tolerated_ = 0;
};

TEST_F(VulkanFaultsTest, InBuffers) { Sweep({.name = "buffers"}, 1); }
TEST_F(VulkanFaultsTest, InTextures) {
  Sweep({.name = "textures", .storage = Storage::kTexture3D}, 1);
}
TEST_F(VulkanFaultsTest, Staged) { Sweep({.name = "staged", .staged = true}, 1); }
TEST_F(VulkanFaultsTest, Tuning) { Sweep({.name = "tuning", .tune = true}, 97); }
TEST_F(VulkanFaultsTest, MakesNoInvalidCalls) {
  Sweep({.name = "validated", .storage = Storage::kTexture3D}, 5, /*validation=*/true);
}

TEST_F(VulkanFaultsTest, CreatingARuntime) {
  int calls = 0;
  for (const VkResult code : kCodes) {
    for (uint64_t first = 1;; ++first, ++calls) {
      Faults().set({.first = first, .code = code});
      const Result<Runtime> made = MakeRuntime(directory_);
      const bool listed = ListDevices().ok();
      const char* failed = Faults().clear();
      if (failed == nullptr) {
        EXPECT_TRUE(made.ok() && listed);
        break;
      }
      if (!made.ok()) {
        EXPECT_FALSE(made.status().message().empty());
      }
    }
    EXPECT_EQ(Faults().live(), leaked_);
  }
  EXPECT_GT(calls, 10);
}

// Each function that may return VK_ERROR_DEVICE_LOST does so. The device remains lost; a new
// runtime works.
TEST_F(VulkanFaultsTest, LosingTheDevice) {
  const Use use{.name = "lost"};
  ASSERT_NO_FATAL_FAILURE(Restart());
  const Result<std::vector<float>> expected = UseModel(*runtime_, use);
  ASSERT_TRUE(expected.ok());
  const auto names_the_remedy = AllOf(HasSubstr(runtime_->device().name), HasSubstr("is lost"),
                                      HasSubstr("create a new runtime"));
  uint64_t first = 1;
  for (;; ++first) {
    Faults().set({.first = first, .code = VK_ERROR_DEVICE_LOST});
    const Result<std::vector<float>> used = UseModel(*runtime_, use);
    const Result<std::vector<float>> again = UseModel(*runtime_, use);
    if (used.ok()) break;
    EXPECT_EQ(used.status().code(), StatusCode::kDeviceLost);
    EXPECT_THAT(used.status().message(), names_the_remedy);
    EXPECT_EQ(again.status().code(), StatusCode::kDeviceLost);
    const std::unique_ptr<Runtime> lost = std::move(runtime_);
    EXPECT_NE(Faults().clear(), nullptr);
    ASSERT_NO_FATAL_FAILURE(Restart());  // while the lost runtime exists
    const Result<std::vector<float>> recovered = UseModel(*runtime_, use);
    ASSERT_TRUE(recovered.ok()) << recovered.status().message();
    EXPECT_EQ(*recovered, *expected);
  }
  Faults().clear();
  EXPECT_GT(first, 10U);
}

// vkWaitForFences fails once with VK_ERROR_OUT_OF_HOST_MEMORY: the run succeeds nevertheless.
TEST_F(VulkanFaultsTest, WaitsAreRetried) {
  ASSERT_NO_FATAL_FAILURE(Restart());
  const Result<std::vector<float>> expected = UseModel(*runtime_, {});
  ASSERT_TRUE(expected.ok());
  Faults().set({.first = 3, .count = 1, .only = "vkWaitForFences"});
  const Result<std::vector<float>> used = UseModel(*runtime_, {});
  EXPECT_STREQ(Faults().clear(), "vkWaitForFences");
  ASSERT_TRUE(used.ok()) << used.status().message();
  EXPECT_EQ(*used, *expected);
}

// The same for a wait with a timeout.
TEST_F(VulkanFaultsTest, WaitsWithTimeoutAreRetried) {
  ASSERT_NO_FATAL_FAILURE(Restart());
  Model model = ValueOf(Model::LoadFromMemory(*runtime_, GraphFile()));
  for (int run = 0; run < 2; ++run) {  // the second one finds no run in flight
    PendingRun pending = ValueOf(model.Submit());
    if (run == 0) Faults().set({.first = 1, .count = 1, .only = "vkWaitForFences"});
    const Result<bool> ended = pending.WaitFor(std::chrono::minutes(1));
    const char* failed = Faults().clear();
    EXPECT_EQ(failed != nullptr, run == 0);
    ASSERT_TRUE(ended.ok()) << ended.status().message();
    EXPECT_TRUE(*ended);
  }
}

// A kernel that the driver fails to compile is replaced by the next one of its operator, unless the
// failure is lack of memory.
TEST_F(VulkanFaultsTest, KernelsThatDoNotCompileAreReplaced) {
  std::vector<std::string> log;
  RuntimeOptions options;
  options.libraries = {&AllShaders()};
  options.cache_dir = "none";
  options.threads = 1;
  options.log = [&log](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) log.emplace_back(message);
  };
  const auto use = [&](VkResult code) -> Result<std::vector<float>> {
    log.clear();
    runtime_ = std::make_unique<Runtime>(ValueOf(Runtime::Create(options)));
    // The first pipeline packs the weight, which only one kernel does.
    Faults().set({.first = 2, .count = 1, .only = "vkCreateComputePipelines", .code = code});
    Result<std::vector<float>> used = UseModel(*runtime_, {});
    Faults().clear();
    return used;
  };
  ASSERT_NO_FATAL_FAILURE(Restart());
  const std::vector<float> expected = ValueOf(UseModel(*runtime_, {}));
  const Result<std::vector<float>> replaced = use(VK_ERROR_UNKNOWN);
  ASSERT_TRUE(replaced.ok()) << replaced.status().message();
  EXPECT_EQ(*replaced, expected);  // integers
  EXPECT_THAT(log, testing::ElementsAre(AllOf(HasSubstr("fails to compile linear"),
                                              HasSubstr("Update the driver"),
                                              HasSubstr("VK_ERROR_UNKNOWN"))));
  EXPECT_EQ(use(VK_ERROR_OUT_OF_DEVICE_MEMORY).status().code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(log, testing::IsEmpty());
  options.verdicts = "none";
  EXPECT_THAT(use(VK_ERROR_UNKNOWN).status().message(), HasSubstr("VK_ERROR_UNKNOWN"));
}

// All waits fail: objects that the GPU may still use are leaked, including the device.
TEST_F(VulkanFaultsTest, LeaksObjectsThatMayBeInUse) {
  ASSERT_NO_FATAL_FAILURE(Restart());
  const size_t live = Faults().live();
  Faults().set({.first = 1, .count = 1000, .only = "vkWaitForFences"});
  const Result<std::vector<float>> used = UseModel(*runtime_, {});
  EXPECT_EQ(used.status().code(), StatusCode::kDeviceLost);
  EXPECT_THAT(used.status().message(), HasSubstr("vkWaitForFences returns"));
  runtime_.reset();
  EXPECT_STREQ(Faults().clear(), "vkWaitForFences");
  EXPECT_GT(Faults().live(), live);
  leaked_ = Faults().live();
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_TRUE(UseModel(*runtime_, {}).ok());
}

}  // namespace
}  // namespace spirloom::faults
