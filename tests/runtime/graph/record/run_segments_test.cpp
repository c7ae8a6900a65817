#include "runtime/graph/record/run_segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "runtime/graph/record/dispatch_cost.h"

namespace spirloom::graph {

bool operator==(const Slice& a, const Slice& b) {
  return a.dispatch == b.dispatch && a.begin == b.begin && a.end == b.end;
}

namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Dispatch Groups(uint32_t x, uint32_t y, uint32_t z, bool divisible = true) {
  Dispatch dispatch;
  dispatch.groups = {x, y, z};
  dispatch.divisible = divisible;
  return dispatch;
}

std::vector<Segment> Divide(const std::vector<Dispatch>& dispatches,
                            const std::vector<uint64_t>& costs, uint64_t max_ns) {
  return DivideIntoSegments(dispatches, costs, max_ns);
}

TEST(DivideIntoSegments, BetweenDispatches) {
  const std::vector<Dispatch> dispatches(5, Groups(10, 1, 1));
  const auto segments = Divide(dispatches, {40, 50, 20, 90, 5}, 100);
  ASSERT_THAT(segments, SizeIs(3));
  EXPECT_THAT(segments[0].slices, ElementsAre(Slice{0, 0, 10}, Slice{1, 0, 10}));
  EXPECT_THAT(segments[1].slices, ElementsAre(Slice{2, 0, 10}));
  EXPECT_THAT(segments[2].slices, ElementsAre(Slice{3, 0, 10}, Slice{4, 0, 10}));
  EXPECT_EQ(segments[0].ns, 90U);
  EXPECT_EQ(segments[2].ns, 95U);
}

TEST(DivideIntoSegments, WithinADispatchInItsOutermostDimension) {
  const auto flat = Divide({Groups(10, 1, 1)}, {250}, 100);
  ASSERT_THAT(flat, SizeIs(3));
  EXPECT_THAT(flat[1].slices, ElementsAre(Slice{0, 3, 6}));
  EXPECT_THAT(flat[2].slices, ElementsAre(Slice{0, 6, 10}));
  EXPECT_EQ(SlicedDimension(Groups(10, 1, 1)), 0U);
  EXPECT_EQ(SlicedDimension(Groups(10, 2, 1)), 1U);
  EXPECT_EQ(SlicedDimension(Groups(10, 2, 3)), 2U);
  EXPECT_EQ(SlicedDimension(Groups(1, 1, 3)), 2U);
  EXPECT_THAT(Divide({Groups(1000, 1, 2)}, {5000}, 100), SizeIs(2)) << "two slices at most";
}

TEST(DivideIntoSegments, NotIndivisibleOnesAndNotWithoutALimit) {
  EXPECT_THAT(Divide({Groups(10, 1, 1, false)}, {1000}, 100), SizeIs(1));
  EXPECT_THAT(Divide({Groups(10, 1, 1), Groups(1, 1, 1)}, {1000, 1}, 0), SizeIs(1));
  EXPECT_THAT(Divide({}, {}, 100), SizeIs(1));
  EXPECT_THAT(Divide({Groups(10, 1, 1)}, {1'000'000'000'000}, 1), SizeIs(10));
}

TEST(DivideIntoSegments, AtTheLimit) {
  const std::vector<Dispatch> two(2, Groups(10, 1, 1));
  EXPECT_THAT(Divide(two, {50, 50}, 100), SizeIs(1));
  EXPECT_THAT(Divide(two, {50, 51}, 100), SizeIs(2));
  EXPECT_THAT(Divide({Groups(10, 1, 1)}, {200}, 100), SizeIs(2));
  EXPECT_THAT(Divide({Groups(10, 1, 1)}, {201}, 100), SizeIs(3));
  const auto uneven = Divide({Groups(3, 1, 1)}, {2}, 1);
  ASSERT_THAT(uneven, SizeIs(2));
  EXPECT_EQ(uneven[0].ns, 1U) << "a slice takes at least 1 ns";
}

// Random runs: the slices cover each dispatch once and in order, and segments exceed the limit only
// with a single slice.
TEST(DivideIntoSegments, CoversEachDispatchOnce) {
  std::mt19937 random(1);
  const auto pick = [&](uint32_t count) { return static_cast<uint32_t>(random() % count); };
  for (int round = 0; round < 500; ++round) {
    std::vector<Dispatch> dispatches(1 + pick(12));
    std::vector<uint64_t> costs;
    for (Dispatch& dispatch : dispatches) {
      const uint32_t x = 1 + pick(40), y = 1 + pick(3) / 2, z = 1 + pick(5) / 4;
      dispatch = Groups(x, y, z, pick(4) > 0);
      costs.push_back(1 + pick(1000));
    }
    const uint64_t max_ns = 1 + pick(800);
    std::vector<uint32_t> done(dispatches.size(), 0);
    uint32_t current = 0;
    for (const Segment& segment : Divide(dispatches, costs, max_ns)) {
      EXPECT_TRUE(segment.ns <= max_ns || segment.slices.size() == 1) << segment.ns;
      for (const Slice& slice : segment.slices) {
        ASSERT_GE(slice.dispatch, current);
        current = slice.dispatch;
        EXPECT_EQ(slice.begin, done[current]);
        EXPECT_GT(slice.end, slice.begin);
        done[current] = slice.end;
      }
    }
    for (size_t i = 0; i < dispatches.size(); ++i) {
      EXPECT_EQ(done[i], dispatches[i].groups[SlicedDimension(dispatches[i])]);
    }
  }
}

TEST(CorrectCosts, DistributesMeasuredTimes) {
  const std::vector<Dispatch> dispatches = {Groups(10, 1, 1), Groups(10, 1, 1), Groups(4, 1, 1)};
  std::vector<uint64_t> costs = {30, 60, 200};
  const auto segments = Divide(dispatches, costs, 100);
  ASSERT_THAT(segments, SizeIs(3));
  CorrectCosts(segments, std::vector<uint64_t>{180, 50, 100}, dispatches, costs);
  EXPECT_THAT(costs, ElementsAre(60, 120, 150));
  const auto again = Divide(dispatches, costs, 100);
  EXPECT_THAT(again, SizeIs(5));
}

TEST(CorrectCosts, OfTheSmallestDispatches) {
  const std::vector<Dispatch> dispatches = {Groups(1, 1, 1), Groups(1, 1, 1)};
  std::vector<uint64_t> costs = {1, 7};
  const auto segments = Divide(dispatches, costs, 7);
  ASSERT_THAT(segments, SizeIs(2));
  CorrectCosts(segments, std::vector<uint64_t>{100, 0}, dispatches, costs);
  EXPECT_THAT(costs, ElementsAre(100, 1));
}

TEST(EstimateNanoseconds, GrowsWithBytesLoopsAndSlowDevices) {
  Plan plan;
  plan.tensors.resize(1);
  plan.tensors[0].size = 100'000'000;
  plan.nodes.resize(1);
  Dispatch dispatch;
  dispatch.tensors = {0, kNoTensor};
  dispatch.invocations = {1 << 20, 4, 1};
  DeviceTraits gpu;
  const uint64_t streaming = EstimateNanoseconds(plan, dispatch, gpu);
  EXPECT_GT(streaming, 1'000'000U) << "100 MB at 100 GB/s";
  plan.nodes[0].loop_iterations = 1000;
  EXPECT_GT(EstimateNanoseconds(plan, dispatch, gpu), 10 * streaming);
  DeviceTraits cpu;
  cpu.properties.is_cpu = true;
  EXPECT_GT(EstimateNanoseconds(plan, dispatch, cpu), EstimateNanoseconds(plan, dispatch, gpu));
  dispatch.pipeline = kBufferCopy;
  EXPECT_GT(EstimateNanoseconds(plan, dispatch, gpu), 1'000'000U);
  plan.nodes[0].loop_iterations = INT64_MAX;
  dispatch.pipeline = 0;
  EXPECT_LE(EstimateNanoseconds(plan, dispatch, gpu), uint64_t{1'000'000'000'000'000});
}

TEST(EstimateNanoseconds, CountsAtMostTheBytesThatInvocationsAccess) {
  Plan plan;
  plan.tensors.resize(1);
  plan.tensors[0].size = 1'000'000'000;  // a table of which a row is read
  plan.nodes.resize(1);
  Dispatch dispatch;
  dispatch.tensors = {0};
  dispatch.invocations = {1024, 1, 1};
  EXPECT_LT(EstimateNanoseconds(plan, dispatch, DeviceTraits()), 100'000U);
}

}  // namespace
}  // namespace spirloom::graph
