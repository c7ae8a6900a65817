// The end of a run orders only the commands that depend on it: runs of other contexts overlap.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/faults/fault_fixture.h"
#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom::faults {
namespace {

using internal::ExecutionContext;

constexpr uint64_t kPieceBytes = 1 << 20;
constexpr VkPipelineStageFlags kHost = VK_PIPELINE_STAGE_HOST_BIT;
constexpr VkPipelineStageFlags kAll =
    kHost | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;

class OverlapTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  }

  // The stages that wait for the end of a run.
  static VkPipelineStageFlags StagesAfterRun(ExecutionContext& context) {
    EXPECT_TRUE(internal::SubmitRun(context).ok());
    const VkPipelineStageFlags stages = Faults().stages_after();
    EXPECT_TRUE(internal::FinishRun(context, context.submitted).ok());
    return stages;
  }

  const std::vector<std::byte> stateless_ = SmallGraph().Write();
  const std::vector<std::byte> stateful_ = GraphFile();
};

TEST_F(OverlapTest, OnlyTheHostWaitsForARun) {
  const Runtime runtime = ValueOf(MakeRuntime("none", /*validation=*/true));
  for (const bool direct : {true, false}) {
    const auto context =
        ValueOf(LoadContext(runtime, stateless_, internal::HostAccess{direct, kPieceBytes}));
    EXPECT_EQ(StagesAfterRun(*context), kHost) << direct;
  }
  EXPECT_EQ(runtime.validation_message_count(), 0U);
}

TEST_F(OverlapTest, RepeatedRunsWaitForStates) {
  const Runtime runtime = ValueOf(MakeRuntime("none", /*validation=*/true));
  const auto context =
      ValueOf(LoadContext(runtime, stateful_, internal::HostAccess{true, kPieceBytes}));
  EXPECT_EQ(StagesAfterRun(*context), kAll);
  EXPECT_EQ(runtime.validation_message_count(), 0U);
}

// A context that shares memory waits for the earlier runs, and later ones wait for it.
TEST_F(OverlapTest, ContextsThatShareMemoryTakeTurns) {
  const Runtime runtime = ValueOf(MakeRuntime("none", /*validation=*/true));
  const auto first =
      ValueOf(LoadContext(runtime, stateless_, internal::HostAccess{true, kPieceBytes}));
  const auto second = ValueOf(internal::CreateContext(first->model, first->method, first->memory));
  const auto separate = ValueOf(internal::CreateContext(first->model, first->method, nullptr));
  EXPECT_EQ(StagesAfterRun(*second), kAll);
  EXPECT_EQ(StagesAfterRun(*separate), kHost);
  EXPECT_EQ(runtime.validation_message_count(), 0U);
}

}  // namespace
}  // namespace spirloom::faults
