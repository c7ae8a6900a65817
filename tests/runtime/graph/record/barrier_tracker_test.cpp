#include "runtime/graph/record/barrier_tracker.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace spirloom::graph {
namespace {

using Step = std::vector<MemoryAccess>;

constexpr bool kRead = false;
constexpr bool kWrite = true;

std::vector<bool> BarriersOf(const std::vector<Step>& steps) {
  BarrierTracker tracker;
  std::vector<bool> barriers;
  for (const Step& step : steps) barriers.push_back(tracker.NextStep(step));
  return barriers;
}

bool Conflict(const Step& a, const Step& b) {
  for (const MemoryAccess& x : a) {
    for (const MemoryAccess& y : b) {
      if (x.memory == y.memory && (x.write || y.write) && x.begin < y.end && y.begin < x.end) {
        return true;
      }
    }
  }
  return false;
}

TEST(BarrierTracker, ReadAfterWriteWaits) {
  EXPECT_EQ(BarriersOf({{{0, 0, 64, kWrite}}, {{0, 63, 64, kRead}}}),
            (std::vector<bool>{false, true}));
}

TEST(BarrierTracker, WriteAfterReadOfReusedMemoryWaits) {
  EXPECT_EQ(BarriersOf({{{0, 0, 64, kRead}}, {{0, 32, 96, kWrite}}}),
            (std::vector<bool>{false, true}));
}

TEST(BarrierTracker, WriteAfterWriteWaits) {
  EXPECT_EQ(BarriersOf({{{0, 0, 64, kWrite}}, {{0, 0, 64, kWrite}}}),
            (std::vector<bool>{false, true}));
}

TEST(BarrierTracker, ReadsDoNotWaitForReads) {
  EXPECT_EQ(BarriersOf({{{0, 0, 64, kRead}}, {{0, 0, 64, kRead}}}),
            (std::vector<bool>{false, false}));
}

TEST(BarrierTracker, AdjacentBytesAndOtherMemoryDoNotWait) {
  EXPECT_EQ(BarriersOf({{{0, 0, 64, kWrite}}, {{0, 64, 128, kRead}}, {{1, 0, 64, kRead}}}),
            (std::vector<bool>{false, false, false}));
}

TEST(BarrierTracker, OneBarrierCoversAllEarlierSteps) {
  EXPECT_EQ(BarriersOf({{{0, 0, 64, kWrite}},
                        {{0, 64, 128, kWrite}},
                        {{0, 0, 64, kRead}, {0, 128, 192, kWrite}},
                        {{0, 64, 128, kRead}, {0, 192, 256, kWrite}}}),
            (std::vector<bool>{false, false, true, false}));
}

TEST(BarrierTracker, AStepCanReadAndWriteTheSameBytes) {
  EXPECT_EQ(BarriersOf({{{0, 0, 64, kRead}, {0, 0, 64, kWrite}}}), (std::vector<bool>{false}));
}

TEST(BarrierTracker, ClearRemovesAllAccesses) {
  BarrierTracker tracker;
  const MemoryAccess write{0, 0, 64, kWrite};
  EXPECT_FALSE(tracker.NextStep({&write, 1}));
  tracker.Clear();
  EXPECT_FALSE(tracker.NextStep({&write, 1}));
}

// A barrier precedes a step if and only if the step conflicts with one since the last barrier.
TEST(BarrierTracker, EqualsTheNaiveModel) {
  std::mt19937 random(7);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Step> steps(30);
    for (Step& step : steps) {
      step.resize(1 + draw(3));
      for (MemoryAccess& access : step) {
        access.memory = draw(2);
        access.begin = draw(200);
        access.end = access.begin + 1 + draw(40);
        access.write = draw(3) == 0;
      }
    }
    const std::vector<bool> barriers = BarriersOf(steps);
    size_t since = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      bool conflict = false;
      for (size_t k = since; k < i; ++k) conflict |= Conflict(steps[k], steps[i]);
      ASSERT_EQ(barriers[i], conflict) << "round " << round << " step " << i;
      if (conflict) since = i;
    }
  }
}

TEST(RangeSet, MergesAdjacentRanges) {
  RangeSet set;
  set.Add(10, 20);
  set.Add(30, 40);
  set.Add(20, 30);
  set.Add(5, 5);
  EXPECT_TRUE(set.Overlaps(0, 11));
  EXPECT_TRUE(set.Overlaps(25, 26));
  EXPECT_TRUE(set.Overlaps(39, 100));
  EXPECT_FALSE(set.Overlaps(0, 10));
  EXPECT_FALSE(set.Overlaps(40, 41));
  EXPECT_FALSE(set.Overlaps(15, 15));
}

}  // namespace
}  // namespace spirloom::graph
