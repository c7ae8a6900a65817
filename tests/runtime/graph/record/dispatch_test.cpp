#include "runtime/graph/record/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/compile.h"
#include "tests/support/fake_library/fake_library.h"
#include "tests/support/graph_file_builder.h"
#include "tests/value_of.h"

namespace spirloom::graph {
namespace {

using Extent = std::array<uint32_t, 3>;
using ::testing::HasSubstr;

TEST(GroupCounts, RoundsUp) {
  const auto counts = GroupCounts({65, 3, 1}, {64, 2, 1}, DeviceTraits());
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(*counts, (Extent{2, 2, 1}));
}

TEST(GroupCounts, LongGridsContinueInY) {
  const int64_t invocations = int64_t{65536} * 64 + 1;
  const auto counts = GroupCounts({invocations, 1, 1}, {64, 1, 1}, DeviceTraits());
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ((*counts)[1], 2u);
  EXPECT_LE((*counts)[0], 65535u);
  EXPECT_GE(int64_t{(*counts)[0]} * (*counts)[1] * 64, invocations);
  const auto exact = GroupCounts({65535 * 64, 1, 1}, {64, 1, 1}, DeviceTraits());
  EXPECT_EQ(*exact, (Extent{65535, 1, 1}));
}

// Kernels compute the index of an invocation as int.
TEST(GroupCounts, DividedGridsHaveIndicesBelow2To31) {
  constexpr int64_t kMax = INT32_MAX;
  const auto counts = GroupCounts({kMax - 100'000, 1, 1}, {256, 1, 1}, DeviceTraits());
  ASSERT_TRUE(counts.ok());
  EXPECT_GT((*counts)[1], 1u);
  DeviceTraits device;
  device.max_group_count = {60000, 60000, 60000};
  EXPECT_THAT(GroupCounts({kMax, 1, 1}, {256, 1, 1}, device).status().message(),
              HasSubstr("Grid of 2147483647 invocations exceeds 2^31 after it is divided into 140 "
                        "rows, because the device's maxComputeWorkGroupCount is 60000."));
  device.max_group_count = {INT32_MAX, 1, 1};
  EXPECT_TRUE(GroupCounts({kMax, 1, 1}, {256, 1, 1}, device).ok()) << "not divided";
}

TEST(GroupCounts, RejectsGridsBeyondTheDeviceLimits) {
  const Status tall = GroupCounts({1, 70000, 1}, {1, 1, 1}, DeviceTraits()).status();
  EXPECT_EQ(tall.code(), StatusCode::kUnsupported);
  EXPECT_THAT(tall.message(), HasSubstr("Grid (70000 groups in dimension 1) exceeds"));
  EXPECT_FALSE(GroupCounts({65536 * 64, 2, 1}, {64, 1, 1}, DeviceTraits()).ok());
  EXPECT_FALSE(GroupCounts({-1, 1, 1}, {64, 1, 1}, DeviceTraits()).ok());
  EXPECT_FALSE(GroupCounts({int64_t{1} << 40, 1, 1}, {64, 1, 1}, DeviceTraits()).ok());
  DeviceTraits none;
  none.max_group_count = {0, 0, 0};
  EXPECT_FALSE(GroupCounts({1, 1, 1}, {64, 1, 1}, none).ok());
}

// The workgroup of a kernel that does not depend on it, for a grid of `count` elements.
Extent WorkgroupOf(int64_t count, const DeviceTraits& device) {
  FileGraph file;
  const auto size = static_cast<uint64_t>(count);
  file.inputs = {file.AddTensor("x", {size})};
  file.outputs = {file.AddTensor("y", {size})};
  file.nodes = {{"test.add", {TensorArg(0), TensorArg(0)}, {1}, "y"}};
  const std::vector<std::byte> bytes = file.Write();
  const Graph graph = ValueOf(ParseGraph(bytes));
  const Plan plan = ValueOf(Compile(graph, ::spirloom::testing::FakeIndex(), device, {}));
  const DispatchList list = ValueOf(BuildDispatches(plan, device));
  EXPECT_EQ(list.pipelines.at(0).workgroup, list.dispatches.at(0).workgroup);
  return list.dispatches[0].workgroup;
}

TEST(Workgroups, AreLargerForLargeGridsOnGpus) {
  DeviceTraits gpu;
  gpu.max_workgroup = {1024, 1024, 64};
  gpu.max_workgroup_invocations = 1024;
  EXPECT_EQ(WorkgroupOf(1 << 20, gpu), (Extent{256, 1, 1}));
  EXPECT_EQ(WorkgroupOf(1 << 10, gpu), (Extent{64, 1, 1}));
  DeviceTraits cpu = gpu;
  cpu.properties.is_cpu = true;
  EXPECT_EQ(WorkgroupOf(1 << 20, cpu), (Extent{64, 1, 1}));
  DeviceTraits narrow = gpu;
  narrow.max_workgroup_invocations = 255;
  EXPECT_EQ(WorkgroupOf(1 << 20, narrow), (Extent{64, 1, 1}));
}

ops::TensorDesc Tensor(ops::Ints shape, DType dtype = DType::kF32) {
  ops::TensorDesc desc;
  desc.dtype = dtype;
  desc.shape = shape;
  return desc;
}

bool Fits(const ops::TensorDesc& tensor, Storage storage, const DeviceTraits& device = {}) {
  return FitsTexture(tensor, storage, device);
}

class FitsTextureTest : public ::testing::TestWithParam<Storage> {};
INSTANTIATE_TEST_SUITE_P(, FitsTextureTest,
                         ::testing::Values(Storage::kTexture3D, Storage::kTexture2D),
                         [](const auto& test) { return Name(test.param); });

TEST_P(FitsTextureTest, RequiresRankAtMost4AndElements) {
  EXPECT_TRUE(Fits(Tensor({}), GetParam()));
  EXPECT_TRUE(Fits(Tensor({2, 512, 256, 256}), GetParam()));
  EXPECT_FALSE(Fits(Tensor({2, 513, 1, 1}), GetParam()));  // 258 slices or layers
  EXPECT_FALSE(Fits(Tensor({1, 1, 1, 1, 1}), GetParam()));
  EXPECT_FALSE(Fits(Tensor({1, 0}), GetParam()));
}

TEST_P(FitsTextureTest, LimitsTheBytesOfAllTexels) {
  DeviceTraits device;
  device.texture3d.bytes = 2 * 3 * 4 * 16;  // a texel has four components
  device.texture2d.bytes = device.texture3d.bytes;
  EXPECT_TRUE(Fits(Tensor({5, 4, 3}), GetParam(), device));
  EXPECT_TRUE(Fits(Tensor({13, 3, 2}), GetParam(), device));
  EXPECT_FALSE(Fits(Tensor({17, 3, 2}), GetParam(), device));
  EXPECT_TRUE(Fits(Tensor({17, 3, 2}, DType::kF16), GetParam(), device));
}

TEST(FitsTexture, LayeredImagesSupportLargerSlices) {
  EXPECT_FALSE(Fits(Tensor({1, 1, 257}), Storage::kTexture3D));
  EXPECT_TRUE(Fits(Tensor({1, 4096, 4096}), Storage::kTexture2D));
  EXPECT_FALSE(Fits(Tensor({1, 1, 4097}), Storage::kTexture2D));
  EXPECT_FALSE(Fits(Tensor({1, 4097, 1}), Storage::kTexture2D));
}

}  // namespace
}  // namespace spirloom::graph
