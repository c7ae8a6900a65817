#include "runtime/graph/memory/memory_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "tests/value_of.h"

namespace spirloom::graph {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 40;

// The most bytes that live at one step: no plan can take less.
uint64_t PeakOfLive(const std::vector<MemoryRequest>& requests) {
  uint64_t peak = 0;
  for (const MemoryRequest& at : requests) {
    uint64_t live = 0;
    for (const MemoryRequest& other : requests) {
      if (other.first <= at.first && at.first <= other.last) live += other.size;
    }
    peak = std::max(peak, live);
  }
  return peak;
}

void ExpectValid(const std::vector<MemoryRequest>& requests, const MemoryPlan& plan,
                 uint64_t max_block) {
  ASSERT_EQ(plan.slots.size(), requests.size());
  uint64_t total = 0;
  for (uint64_t size : plan.block_size) {
    EXPECT_LE(size, max_block);
    total += size;
  }
  EXPECT_EQ(plan.planned_bytes, total);
  EXPECT_LE(plan.planned_bytes, plan.naive_bytes);
  EXPECT_EQ(plan.live_bytes, PeakOfLive(requests));
  EXPECT_GE(plan.planned_bytes, plan.live_bytes);
  for (size_t i = 0; i < requests.size(); ++i) {
    const MemorySlot& a = plan.slots[i];
    ASSERT_LT(a.block, plan.block_size.size());
    EXPECT_EQ(a.offset % requests[i].alignment, 0u);
    EXPECT_LE(a.offset + requests[i].size, plan.block_size[a.block]);
    for (size_t k = 0; k < i; ++k) {
      const MemorySlot& b = plan.slots[k];
      const bool same_time =
          requests[i].first <= requests[k].last && requests[k].first <= requests[i].last;
      const bool same_bytes = a.block == b.block && a.offset < b.offset + requests[k].size &&
                              b.offset < a.offset + requests[i].size;
      EXPECT_FALSE(same_time && same_bytes) << "requests " << i << " and " << k;
    }
  }
}

TEST(MemoryPlanner, AChainTakesTwoBuffers) {
  std::vector<MemoryRequest> chain;
  for (uint32_t i = 0; i < 10; ++i) chain.push_back({1024, 256, i, i + 1});
  Result<MemoryPlan> plan = PlanMemory(chain, kNoLimit);
  ASSERT_TRUE(plan.ok());
  ExpectValid(chain, *plan, kNoLimit);
  EXPECT_EQ(plan->planned_bytes, 2048u);
  EXPECT_EQ(plan->naive_bytes, 10240u);
  EXPECT_EQ(plan->block_size.size(), 1u);
}

TEST(MemoryPlanner, ASmallTensorGoesIntoTheSmallestGap) {
  // At step 0: 400 | 300 | 200 | 199. At step 1 the first and the third are gone.
  const std::vector<MemoryRequest> requests{
      {400, 1, 0, 0}, {300, 1, 0, 1}, {200, 1, 0, 0}, {199, 1, 0, 1}, {150, 1, 1, 1}};
  Result<MemoryPlan> plan = PlanMemory(requests, kNoLimit);
  ASSERT_TRUE(plan.ok());
  ExpectValid(requests, *plan, kNoLimit);
  EXPECT_EQ(plan->slots[4], (MemorySlot{0, 700}));
}

// Largest first, the two of 48 bytes share a place below that of 32, and one of 16 is left over.
TEST(MemoryPlanner, AnotherOrderIsTriedWhereTheLargestFirstWasteBytes) {
  const std::vector<MemoryRequest> requests = {
      {16, 16, 3, 5}, {16, 16, 1, 3}, {48, 16, 0, 2}, {48, 16, 4, 5}, {32, 16, 2, 3}};
  Result<MemoryPlan> plan = PlanMemory(requests, kNoLimit);
  ASSERT_TRUE(plan.ok());
  ExpectValid(requests, *plan, kNoLimit);
  EXPECT_EQ(plan->planned_bytes, 96u);
}

TEST(MemoryPlanner, NothingToPlaceTakesNothing) {
  Result<MemoryPlan> plan = PlanMemory({}, kNoLimit);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->planned_bytes, 0u);
  EXPECT_TRUE(plan->block_size.empty());
}

TEST(MemoryPlanner, BlocksStayWithinTheLimit) {
  std::vector<MemoryRequest> requests(5, MemoryRequest{600, 64, 0, 0});
  Result<MemoryPlan> plan = PlanMemory(requests, 1300);
  ASSERT_TRUE(plan.ok());
  ExpectValid(requests, *plan, 1300);
  EXPECT_EQ(plan->block_size.size(), 3u);
}

TEST(MemoryPlanner, ATensorBeyondTheLimitIsRefusedWithBothSizes) {
  const std::vector<MemoryRequest> requests{{64, 1, 0, 0}, {2000, 1, 0, 0}};
  Result<MemoryPlan> plan = PlanMemory(requests, 1000);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(plan.status().message(),
            "Tensor size (2000) exceeds the largest allocation (1000) of the device.");
}

// As many as a test can plan only in near to linear time: quadratic planning takes minutes.
constexpr uint32_t kMany = 400000;

TEST(MemoryPlanner, ALongChainIsPlannedInItsPeak) {
  std::mt19937 random(1);
  std::vector<MemoryRequest> chain;
  for (uint32_t i = 0; i < kMany; ++i) chain.push_back({256 * (1 + random() % 400), 256, i, i + 1});
  uint64_t peak = 0;
  for (size_t i = 1; i < chain.size(); ++i) {
    peak = std::max(peak, chain[i - 1].size + chain[i].size);
  }
  Result<MemoryPlan> plan = PlanMemory(chain, kNoLimit);
  ASSERT_TRUE(plan.ok());
  for (size_t i = 1; i < chain.size(); ++i) {
    const uint64_t a = plan->slots[i - 1].offset;
    const uint64_t b = plan->slots[i].offset;
    ASSERT_TRUE(a + chain[i - 1].size <= b || b + chain[i].size <= a) << "requests before " << i;
  }
  EXPECT_LE(plan->planned_bytes, peak * 3 / 2);
}

TEST(MemoryPlanner, ManyThatLiveAtOnceShareNothing) {
  std::vector<MemoryRequest> nested;
  for (uint32_t i = 0; i < kMany; ++i) nested.push_back({64 + i % 1000, 64, i, 2 * kMany - i});
  Result<MemoryPlan> plan = PlanMemory(nested, uint64_t{1} << 22);
  ASSERT_TRUE(plan.ok());
  // All are alive at step kMany: none may share a byte with another.
  std::vector<std::array<uint64_t, 3>> places;
  for (size_t i = 0; i < nested.size(); ++i) {
    const MemorySlot& slot = plan->slots[i];
    places.push_back({slot.block, slot.offset, slot.offset + nested[i].size});
  }
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i][0] != places[i - 1][0]) continue;
    ASSERT_LE(places[i - 1][2], places[i][1]) << "place " << i;
  }
  for (uint64_t size : plan->block_size) EXPECT_LE(size, uint64_t{1} << 22);
}

TEST(MemoryPlanner, RandomLifetimesNeverOverlap) {
  std::mt19937 random(1);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  uint64_t planned = 0;
  uint64_t naive = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<MemoryRequest> requests(1 + draw(60));
    const uint32_t steps = 1 + draw(40);
    for (MemoryRequest& request : requests) {
      request.size = 1 + draw(draw(2) == 0 ? 64 : 100000);
      request.alignment = uint64_t{1} << draw(12);
      request.first = draw(steps);
      request.last = request.first + draw(6);
    }
    const uint64_t max_block = draw(3) == 0 ? 150000 : kNoLimit;
    Result<MemoryPlan> plan = PlanMemory(requests, max_block);
    ASSERT_TRUE(plan.ok());
    ExpectValid(requests, *plan, max_block);
    EXPECT_EQ(ValueOf(PlanMemory(requests, max_block)).slots, plan->slots);
    planned += plan->planned_bytes;
    naive += plan->naive_bytes;
  }
  EXPECT_LT(planned, naive / 2);
}

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Allocates nothing, and fails for blocks beyond `most`.
Result<MemoryPlan> PlanWhereThereIsRoom(std::span<const MemoryRequest> requests, uint64_t most,
                                        StatusCode code = StatusCode::kOutOfMemory) {
  return PlanAndAllocate(requests, /*max_block=*/uint64_t{1} << 40, [&](const MemoryPlan& plan) {
    for (uint64_t size : plan.block_size) {
      if (size > most) return Status(code, "no room");
    }
    return Status();
  });
}

TEST(PlanAndAllocate, SplitsBlocksThatFindNoRoom) {
  const std::vector<MemoryRequest> requests(8, {20 * kMiB, 256, 0, 0});
  const Result<MemoryPlan> one = PlanWhereThereIsRoom(requests, 200 * kMiB);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->block_size, std::vector<uint64_t>{160 * kMiB});
  const Result<MemoryPlan> split = PlanWhereThereIsRoom(requests, 50 * kMiB);
  ASSERT_TRUE(split.ok()) << split.status().message();
  EXPECT_EQ(split->block_size, std::vector<uint64_t>(4, 40 * kMiB));
  EXPECT_EQ(split->planned_bytes, one->planned_bytes);
}

TEST(PlanAndAllocate, EndsWhereSplittingIsOfNoUse) {
  const std::vector<MemoryRequest> requests(8, {20 * kMiB, 256, 0, 0});
  EXPECT_EQ(PlanWhereThereIsRoom(requests, 19 * kMiB).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(PlanWhereThereIsRoom(requests, 50 * kMiB, StatusCode::kDeviceLost).status().code(),
            StatusCode::kDeviceLost);
  const std::vector<MemoryRequest> small(8, {kMiB, 256, 0, 0});
  EXPECT_EQ(PlanWhereThereIsRoom(small, 4 * kMiB).status().code(), StatusCode::kOutOfMemory);
}

}  // namespace
}  // namespace spirloom::graph
