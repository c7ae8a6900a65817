// Command buffers have labels if a tool that reads them is attached.
#include <gtest/gtest.h>

#include <cstddef>

#include "tests/faults/fault_fixture.h"
#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom::faults {
namespace {

struct Labeled {
  size_t labels;
  size_t dispatches;
};

// The labels and dispatches of a model that is loaded while a tool is attached.
Labeled Load(VkToolPurposeFlags purposes, bool validation = false) {
  Faults().emulate_tool(purposes);
  const Runtime runtime = ValueOf(MakeRuntime("none", validation));
  const Model model = ValueOf(Model::LoadFromMemory(runtime, SmallGraph().Write()));
  const size_t labels = Faults().labels();
  Faults().emulate_tool(0);
  return {labels, model.stats().dispatches};
}

TEST(DebugToolsTest, ToolsThatReadLabels) {
  if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  const Labeled found = Load(VK_TOOL_PURPOSE_TRACING_BIT | VK_TOOL_PURPOSE_DEBUG_MARKERS_BIT_EXT);
  EXPECT_GT(found.dispatches, 0U);
  EXPECT_EQ(found.labels, found.dispatches);
}

TEST(DebugToolsTest, OtherTools) {
  if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  EXPECT_EQ(Load(VK_TOOL_PURPOSE_PROFILING_BIT).labels, 0U);
}

TEST(DebugToolsTest, ValidationHasLabels) {
  if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  const Labeled found = Load(0, /*validation=*/true);
  EXPECT_EQ(found.labels, found.dispatches);
}

}  // namespace
}  // namespace spirloom::faults
