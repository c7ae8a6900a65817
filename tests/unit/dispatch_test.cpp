#include "runtime/graph/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spirloom::graph {
namespace {

using Extent = std::array<uint32_t, 3>;
using ::testing::HasSubstr;

TEST(FitWorkgroup, KeepsWhatFits) {
  EXPECT_EQ(FitWorkgroup({64, 2, 1}, DeviceTraits()), (Extent{64, 2, 1}));
}

TEST(FitWorkgroup, ClipsEachDimensionAndTheProduct) {
  EXPECT_EQ(FitWorkgroup({1024, 1, 1}, DeviceTraits()), (Extent{128, 1, 1}));
  EXPECT_EQ(FitWorkgroup({1, 1, 128}, DeviceTraits()), (Extent{1, 1, 64}));
  const Extent fitted = FitWorkgroup({32, 32, 2}, DeviceTraits());
  EXPECT_LE(fitted[0] * fitted[1] * fitted[2], 128u);
  EXPECT_EQ(FitWorkgroup({0, 0, 0}, DeviceTraits()), (Extent{1, 1, 1}));
}

TEST(GroupCounts, RoundsUp) {
  const auto counts = GroupCounts({65, 3, 1}, {64, 2, 1}, DeviceTraits());
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(*counts, (Extent{2, 2, 1}));
}

TEST(GroupCounts, LongGridsGoOnInY) {
  const int64_t invocations = int64_t{65536} * 64 + 1;
  const auto counts = GroupCounts({invocations, 1, 1}, {64, 1, 1}, DeviceTraits());
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ((*counts)[1], 2u);
  EXPECT_LE((*counts)[0], 65535u);
  EXPECT_GE(int64_t{(*counts)[0]} * (*counts)[1] * 64, invocations);
  const auto whole = GroupCounts({65535 * 64, 1, 1}, {64, 1, 1}, DeviceTraits());
  EXPECT_EQ(*whole, (Extent{65535, 1, 1}));
}

TEST(GroupCounts, RefusesWhatTheDeviceCannot) {
  const Status tall = GroupCounts({1, 70000, 1}, {1, 1, 1}, DeviceTraits()).status();
  EXPECT_EQ(tall.code(), StatusCode::kUnsupported);
  EXPECT_THAT(tall.message(), HasSubstr("Grid (70000 groups in dimension 1) exceeds"));
  EXPECT_FALSE(GroupCounts({65536 * 64, 2, 1}, {64, 1, 1}, DeviceTraits()).ok());
  EXPECT_FALSE(GroupCounts({-1, 1, 1}, {64, 1, 1}, DeviceTraits()).ok());
  EXPECT_FALSE(GroupCounts({int64_t{1} << 40, 1, 1}, {64, 1, 1}, DeviceTraits()).ok());
}

ops::TensorDesc Tensor(ops::Ints shape, DType dtype = DType::kF32) {
  ops::TensorDesc desc;
  desc.dtype = dtype;
  desc.shape = shape;
  return desc;
}

TEST(FitsTexture, ChecksRankAndExtents) {
  const DeviceTraits device;
  EXPECT_TRUE(FitsTexture(Tensor({}), device));
  EXPECT_TRUE(FitsTexture(Tensor({2, 512, 256, 256}), device));
  EXPECT_FALSE(FitsTexture(Tensor({2, 513, 256, 256}), device));
  EXPECT_FALSE(FitsTexture(Tensor({1, 1, 257}), device));
  EXPECT_FALSE(FitsTexture(Tensor({1, 1, 1, 1, 1}), device));
  EXPECT_FALSE(FitsTexture(Tensor({1, 0}), device));
}

TEST(FitsTexture, ChecksTheBytesOfAllTexels) {
  DeviceTraits device;
  device.max_image_bytes = 2 * 3 * 4 * 16;  // a texel is four elements, used or not
  EXPECT_TRUE(FitsTexture(Tensor({5, 4, 3}), device));
  EXPECT_TRUE(FitsTexture(Tensor({13, 3, 2}), device));
  EXPECT_FALSE(FitsTexture(Tensor({17, 3, 2}), device));
  EXPECT_TRUE(FitsTexture(Tensor({17, 3, 2}, DType::kF16), device));
}

}  // namespace
}  // namespace spirloom::graph
