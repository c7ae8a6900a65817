// Layouts, descriptor pools and pipelines.
#include "runtime/vulkan/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/device_fixture.h"

namespace spirloom::vulkan {
namespace {

using pack::BindingType;
using ::testing::HasSubstr;

constexpr std::array kTwoBuffers = {BindingType::kStorageBuffer, BindingType::kStorageBuffer};

class PipelineTest : public testing::DeviceTest {
 protected:
  PipelineDesc ScaleDesc(uint32_t scale) const {
    return {.name = "scale_" + std::to_string(scale),
            .module = pack::StoredModule::Raw(spirv_),
            .bindings = kTwoBuffers,
            .push_bytes = 4,
            .workgroup = {32, 1, 1},
            .constants = {scale}};
  }

  const std::vector<uint32_t> spirv_ = testing::ScaleShader();
};

TEST_F(PipelineTest, LayoutsAreCached) {
  LayoutCache layouts(device());
  constexpr std::array kMixed = {BindingType::kSampledImage3D, BindingType::kStorageImage2DArray};
  const auto a = layouts.Get(kTwoBuffers, 16);
  const auto b = layouts.Get(kTwoBuffers, 16);
  const auto c = layouts.Get(kTwoBuffers, 20);
  const auto d = layouts.Get(kMixed, 16);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok() && d.ok());
  EXPECT_EQ(a->pipeline, b->pipeline);
  EXPECT_EQ(a->set, c->set);
  EXPECT_NE(a->pipeline, c->pipeline);
  EXPECT_NE(a->set, d->set);
  EXPECT_TRUE(layouts.Get({}, 0).ok());
}

TEST_F(PipelineTest, RejectsMoreBindingsThanTheDeviceSupports) {
  const uint32_t limit = device().limits().maxPerStageDescriptorStorageBuffers;
  if (limit > 10000)
    GTEST_SKIP() << "The limit of the device is too large to test (" << limit << ").";
  LayoutCache layouts(device());
  const std::vector<BindingType> types(limit + 1, BindingType::kStorageBuffer);
  const Status status = layouts.Get(types, 0).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr(std::to_string(limit + 1) + " storage buffers"));
}

TEST_F(PipelineTest, CreatesSeveralPipelinesInOrder) {
  LayoutCache layouts(device());
  const uint64_t before = device().counters().pipelines;
  std::vector<PipelineDesc> descs;
  for (uint32_t i = 0; i < 8; ++i) descs.push_back(ScaleDesc(i));
  const auto pipelines = CreatePipelines(device(), layouts, VK_NULL_HANDLE, descs);
  ASSERT_TRUE(pipelines.ok()) << pipelines.status().message();
  EXPECT_EQ(pipelines->size(), 8U);
  EXPECT_EQ(device().counters().pipelines, before + 8);
  EXPECT_TRUE(CreatePipelines(device(), layouts, VK_NULL_HANDLE, {}).ok());
}

TEST_F(PipelineTest, ReportsTheFirstFailedPipeline) {
  LayoutCache layouts(device());
  std::vector<PipelineDesc> descs = {ScaleDesc(1), ScaleDesc(2), ScaleDesc(3)};
  descs[1].workgroup = {1U << 30, 1, 1};
  descs[2].workgroup = {0, 1, 1};
  const Status status = CreatePipelines(device(), layouts, VK_NULL_HANDLE, descs).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("The workgroup 1073741824 x 1 x 1 is outside"));
  EXPECT_THAT(status.message(), HasSubstr("While creating the pipeline of scale_2."));
}

TEST_F(PipelineTest, RejectsAWorkgroupWithTooManyInvocations) {
  LayoutCache layouts(device());
  PipelineDesc desc = ScaleDesc(1);
  const auto& size = device().limits().maxComputeWorkGroupSize;
  if (uint64_t{size[0]} * size[1] <= device().limits().maxComputeWorkGroupInvocations) {
    GTEST_SKIP() << "The device's limits do not conflict.";
  }
  desc.workgroup = {size[0], size[1], 1};
  EXPECT_EQ(ComputePipeline::Create(device(), layouts, VK_NULL_HANDLE, desc).status().code(),
            StatusCode::kUnsupported);
}

TEST_F(PipelineTest, RejectsAWorkgroupWithTooManySubgroups) {
  PhysicalDevice physical = device().physical();
  physical.max_workgroup_subgroups = 2;
  const auto small = Device::Create(instance(), physical, /*capabilities=*/0);
  ASSERT_TRUE(small.ok()) << small.status().message();
  LayoutCache layouts(**small);
  PipelineDesc desc = ScaleDesc(1);
  desc.workgroup = {9, 1, 1};
  desc.subgroup_size = 4;
  const Status status = ComputePipeline::Create(**small, layouts, VK_NULL_HANDLE, desc).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(),
            "The workgroup of 9 invocations has more subgroups of 4 than the device allows "
            "(maxComputeWorkgroupSubgroups: 2).");
}

TEST_F(PipelineTest, PoolsHaveTheCountedSize) {
  LayoutCache layouts(device());
  const auto layout = layouts.Get(kTwoBuffers, 0);
  ASSERT_TRUE(layout.ok());
  DescriptorCounts counts;
  counts.Add(kTwoBuffers);
  counts.Add(kTwoBuffers);
  EXPECT_EQ(counts.sets, 2U);
  EXPECT_EQ(counts.storage_buffers, 4U);
  auto pool = DescriptorPool::Create(device(), counts);
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  const auto first = pool->Allocate(layout->set);
  const auto second = pool->Allocate(layout->set);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_TRUE(DescriptorPool::Create(device(), {}).ok());
}

}  // namespace
}  // namespace spirloom::vulkan
