// A program that loads its delegates again after a lost device gets another runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "integrations/executorch/backend/session_cache.h"
#include "runtime/base/error.h"
#include "tests/faults/fault_fixture.h"
#include "tests/value_of.h"

namespace spirloom::faults {
namespace {

using delegate::Session;
using delegate::SessionCache;
using delegate::SessionOptions;

TEST(ExecuTorchSession, IsReplacedAfterALostDevice) {
  if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  int made = 0;
  SessionCache cache([&](const SessionOptions&) -> Result<Session> {
    ++made;
    SPIRLOOM_TRY_ASSIGN(Runtime runtime, MakeRuntime());
    return Session{std::move(runtime), delegate::NameTable()};
  });
  const auto first = ValueOf(cache.Get({}));
  const Use use{.name = "session"};
  const std::vector<float> expected = ValueOf(UseModel(first->runtime, use));
  EXPECT_EQ(ValueOf(cache.Get({})), first) << "delegates share the session";
  EXPECT_NE(ValueOf(cache.Get({.memory_limit = 1 << 30})), first);
  EXPECT_EQ(made, 2);

  Faults().set({.only = "vkQueueSubmit", .code = VK_ERROR_DEVICE_LOST});
  EXPECT_EQ(UseModel(first->runtime, use).status().code(), StatusCode::kDeviceLost);
  Faults().clear();
  EXPECT_TRUE(first->runtime.is_lost());
  const auto second = ValueOf(cache.Get({}));
  EXPECT_NE(second, first);
  EXPECT_FALSE(second->runtime.is_lost());
  EXPECT_EQ(ValueOf(UseModel(second->runtime, use)), expected);
  EXPECT_EQ(ValueOf(cache.Get({})), second);
}

// The device does not come back at once: the next call tries again.
TEST(ExecuTorchSession, AFailureIsNotKept) {
  if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  bool fails = true;
  SessionCache cache([&](const SessionOptions&) -> Result<Session> {
    if (fails) return spirloom::Error(StatusCode::kUnavailable, "There is no device.");
    SPIRLOOM_TRY_ASSIGN(Runtime runtime, MakeRuntime());
    return Session{std::move(runtime), delegate::NameTable()};
  });
  EXPECT_EQ(cache.Get({}).status().code(), StatusCode::kUnavailable);
  fails = false;
  EXPECT_TRUE(cache.Get({}).ok());
}

}  // namespace
}  // namespace spirloom::faults
