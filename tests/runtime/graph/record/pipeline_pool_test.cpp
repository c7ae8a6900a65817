#include "runtime/graph/record/pipeline_pool.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/device_fixture.h"
#include "tests/value_of.h"

namespace spirloom::graph {
namespace {

constexpr std::array kTwoBuffers = {pack::BindingType::kStorageBuffer,
                                    pack::BindingType::kStorageBuffer};

class PipelinePoolTest : public testing::DeviceTest {
 protected:
  Result<std::vector<SharedPipeline>> Get(std::vector<uint32_t> scales) {
    std::vector<vulkan::PipelineDesc> descs;
    for (uint32_t scale : scales) {
      descs.push_back({.name = "scale",
                       .module = pack::StoredModule::Raw(spirv_),
                       .bindings = kTwoBuffers,
                       .push_bytes = 4,
                       .workgroup = {32, 1, 1},
                       .constants = {scale}});
    }
    return pool_.Get(device(), layouts_, VK_NULL_HANDLE, descs);
  }

  const std::vector<uint32_t> spirv_ = testing::ScaleShader();
  vulkan::LayoutCache layouts_{device()};
  PipelinePool pool_;
};

TEST_F(PipelinePoolTest, SharesPipelinesInUse) {
  const auto first = ValueOf(Get({1, 2, 3}));
  const uint64_t created = device().counters().pipelines;
  const auto second = ValueOf(Get({3, 4, 1}));
  EXPECT_EQ(device().counters().pipelines, created + 1);
  EXPECT_EQ(second[0], first[2]);
  EXPECT_EQ(second[2], first[0]);
}

// E.g. pipelines of a model with many sizes.
TEST_F(PipelinePoolTest, RemovesUnusedPipelines) {
  const auto in_use = ValueOf(Get({0}));
  for (uint32_t scale = 1; scale < 50; ++scale) ASSERT_TRUE(Get({scale}).ok());
  EXPECT_EQ(pool_.size(), 2U);
  EXPECT_EQ(ValueOf(Get({0}))[0], in_use[0]);
  EXPECT_EQ(pool_.size(), 1U);
}

}  // namespace
}  // namespace spirloom::graph
