#include "runtime/graph/memory/memory_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>

#include "tests/value_of.h"

namespace spirloom::graph {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 40;

// The maximum number of live bytes at any step: a lower bound of every plan.
uint64_t PeakOfLive(const std::vector<MemoryRequest>& requests) {
  std::map<uint32_t, uint64_t> starts, ends;
  for (const MemoryRequest& request : requests) {
    starts[request.first] += request.size;
    ends[request.last] += request.size;
  }
  uint64_t peak = 0, started = 0, ended = 0;
  auto end = ends.begin();
  for (const auto& [step, bytes] : starts) {
    for (; end != ends.end() && end->first < step; ++end) ended += end->second;
    started += bytes;
    peak = std::max(peak, started - ended);
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
  std::vector<size_t> order(requests.size());  // by address
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {},
                    [&](size_t i) { return std::pair(plan.slots[i].block, plan.slots[i].offset); });
  for (size_t n = 0; n < order.size(); ++n) {
    const size_t i = order[n];
    const MemorySlot& a = plan.slots[i];
    ASSERT_LT(a.block, plan.block_size.size());
    EXPECT_EQ(a.offset % requests[i].alignment, 0u);
    const uint64_t end = a.offset + requests[i].size;
    EXPECT_LE(end, plan.block_size[a.block]);
    for (size_t m = n + 1; m < order.size(); ++m) {
      const size_t k = order[m];
      if (plan.slots[k].block != a.block || plan.slots[k].offset >= end) break;
      if (requests[i].last < requests[k].first || requests[k].last < requests[i].first) continue;
      FAIL() << "requests " << i << " and " << k << " overlap";
    }
  }
}

TEST(MemoryPlanner, AChainRequiresTwoBuffers) {
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
  // Step 0: 400 | 300 | 200 | 199. At step 1, the first and the third are free.
  const std::vector<MemoryRequest> requests{
      {400, 1, 0, 0}, {300, 1, 0, 1}, {200, 1, 0, 0}, {199, 1, 0, 1}, {150, 1, 1, 1}};
  Result<MemoryPlan> plan = PlanMemory(requests, kNoLimit);
  ASSERT_TRUE(plan.ok());
  ExpectValid(requests, *plan, kNoLimit);
  EXPECT_EQ(plan->slots[4], (MemorySlot{0, 700}));
}

// In order of size, the requests of 48 bytes share an offset below that of 32 bytes, and a request
// of 16 bytes extends the block.
TEST(MemoryPlanner, TriesAnotherOrderIfLargestFirstIsNotOptimal) {
  const std::vector<MemoryRequest> requests = {
      {16, 16, 3, 5}, {16, 16, 1, 3}, {48, 16, 0, 2}, {48, 16, 4, 5}, {32, 16, 2, 3}};
  Result<MemoryPlan> plan = PlanMemory(requests, kNoLimit);
  ASSERT_TRUE(plan.ok());
  ExpectValid(requests, *plan, kNoLimit);
  EXPECT_EQ(plan->planned_bytes, 96u);
}

TEST(MemoryPlanner, NoRequestsRequireNoMemory) {
  Result<MemoryPlan> plan = PlanMemory({}, kNoLimit);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->planned_bytes, 0u);
  EXPECT_EQ(plan->live_bytes, 0u);
  EXPECT_TRUE(plan->block_size.empty());
}

TEST(MemoryPlanner, BlocksStayWithinTheLimit) {
  std::vector<MemoryRequest> requests(5, MemoryRequest{600, 64, 0, 0});
  Result<MemoryPlan> plan = PlanMemory(requests, 1300);
  ASSERT_TRUE(plan.ok());
  ExpectValid(requests, *plan, 1300);
  EXPECT_EQ(plan->block_size.size(), 3u);
}

TEST(MemoryPlanner, AcceptsATensorOfTheLimit) {
  const std::vector<MemoryRequest> requests{{1000, 1, 0, 1}, {1000, 1, 0, 0}, {600, 1, 1, 1}};
  Result<MemoryPlan> plan = PlanMemory(requests, 1000);
  ASSERT_TRUE(plan.ok());
  ExpectValid(requests, *plan, 1000);
  EXPECT_EQ(plan->block_size, (std::vector<uint64_t>{1000, 1000}));
}

TEST(MemoryPlanner, RejectsATensorBeyondTheLimit) {
  const std::vector<MemoryRequest> requests{{64, 1, 0, 0}, {2000, 1, 0, 0}};
  Result<MemoryPlan> plan = PlanMemory(requests, 1000);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(plan.status().message(),
            "Tensor size (2000 bytes) exceeds the maximum allocation (1000 bytes) of the device.");
}

// The smallest block that first fit reaches with any order of the requests.
uint64_t SmallestBlock(const std::vector<MemoryRequest>& requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  uint64_t smallest = UINT64_MAX;
  do {
    uint64_t block = 0;
    std::vector<uint64_t> offsets(requests.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const MemoryRequest& request = requests[order[i]];
      uint64_t& offset = offsets[order[i]];
      bool is_free = false;
      for (offset = 0; !is_free; offset += is_free ? 0 : request.alignment) {
        is_free =
            std::all_of(order.begin(), order.begin() + static_cast<ptrdiff_t>(i), [&](size_t k) {
              const MemoryRequest& other = requests[k];
              return request.last < other.first || other.last < request.first ||
                     offset + request.size <= offsets[k] || offsets[k] + other.size <= offset;
            });
      }
      block = std::max(block, offset + request.size);
    }
    smallest = std::min(smallest, block);
  } while (std::next_permutation(order.begin(), order.end()));
  return smallest;
}

TEST(MemoryPlanner, MostSmallPlansAreOptimal) {
  std::mt19937 random(3);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  int optimal = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<MemoryRequest> requests(5);
    for (MemoryRequest& request : requests) {
      request = {8 * uint64_t{1 + draw(8)}, uint64_t{8} << draw(2), draw(6), 0};
      request.last = request.first + draw(4);
    }
    const MemoryPlan plan = ValueOf(PlanMemory(requests, kNoLimit));
    ExpectValid(requests, plan, kNoLimit);
    EXPECT_LE(plan.block_size.size(), 1u);
    optimal += plan.planned_bytes == SmallestBlock(requests);
  }
  EXPECT_GE(optimal, 187);
}

// Too many for further orders.
TEST(MemoryPlanner, LargestFirstIsNearTheLowerBound) {
  std::mt19937 random(5);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  std::vector<MemoryRequest> requests(4000);
  for (MemoryRequest& request : requests) {
    request = {1 + draw(draw(3) == 0 ? 100000 : 2000), uint64_t{1} << draw(9), draw(2000), 0};
    request.last = request.first + draw(draw(10) == 0 ? 300 : 20);
  }
  const MemoryPlan plan = ValueOf(PlanMemory(requests, kNoLimit));
  ExpectValid(requests, plan, kNoLimit);
  const auto excess = [](const MemoryPlan& found) {  // in 1/10000
    return (found.planned_bytes - found.live_bytes) * 10000 / found.live_bytes;
  };
  EXPECT_LE(excess(plan), 3u);
  const MemoryPlan blocks = ValueOf(PlanMemory(requests, 120000));
  ExpectValid(requests, blocks, 120000);
  EXPECT_LE(excess(blocks), 1u);
}

// Padding precedes the requests of alignment 64 if the largest are placed first.
TEST(MemoryPlanner, KeepsTheGivenOrderIfItIsSmaller) {
  std::vector<MemoryRequest> requests(2000, MemoryRequest{64, 64, 0, 0});
  requests.insert(requests.end(), 2001, MemoryRequest{97, 1, 0, 0});
  const uint64_t bytes = 2000 * 64 + 2001 * 97;
  const MemoryPlan plan = ValueOf(PlanMemory(requests, kNoLimit));
  ExpectValid(requests, plan, kNoLimit);
  EXPECT_EQ(plan.planned_bytes, bytes);
  EXPECT_EQ(plan.naive_bytes, bytes);
  const MemoryPlan blocks = ValueOf(PlanMemory(requests, 64 * 97));
  ExpectValid(requests, blocks, 64 * 97);
  EXPECT_EQ(blocks.block_size.size(), (bytes + 64 * 97 - 1) / (64 * 97));
}

// Beyond the number of visits that limits the time, requests are appended to the last block.
TEST(MemoryPlanner, RequestsThatAreAllLiveAtOnce) {
  std::vector<MemoryRequest> requests;
  for (uint32_t i = 0; i < 50; ++i) requests.push_back({10000, 256, 10000 + i, 10000 + i});
  for (uint32_t i = 0; i < 3200; ++i) requests.push_back({65 + i % 100, 64, i, 8000 - i});
  for (const uint64_t max_block : {kNoLimit, uint64_t{10000}}) {
    const MemoryPlan plan = ValueOf(PlanMemory(requests, max_block));
    ExpectValid(requests, plan, max_block);
    EXPECT_LE(plan.planned_bytes, plan.live_bytes * 3 / 2);
    EXPECT_LE(plan.block_size.size(), 1 + plan.live_bytes * 4 / 3 / max_block);
  }
}

// Requires nearly linear time: quadratic planning takes a minute.
constexpr uint32_t kMany = 100000;

TEST(MemoryPlanner, PlansALongChainNearItsPeakInLinearTime) {
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

TEST(MemoryPlanner, PlansNestedLifetimesInLinearTime) {
  std::vector<MemoryRequest> nested;
  for (uint32_t i = 0; i < kMany; ++i) nested.push_back({64 + i % 1000, 64, i, 2 * kMany - i});
  Result<MemoryPlan> plan = PlanMemory(nested, uint64_t{1} << 22);
  ASSERT_TRUE(plan.ok());
  // All are live at step kMany.
  std::vector<std::array<uint64_t, 3>> ranges;
  for (size_t i = 0; i < nested.size(); ++i) {
    const MemorySlot& slot = plan->slots[i];
    ranges.push_back({slot.block, slot.offset, slot.offset + nested[i].size});
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i][0] != ranges[i - 1][0]) continue;
    ASSERT_LE(ranges[i - 1][2], ranges[i][1]) << "range " << i;
  }
  for (uint64_t size : plan->block_size) EXPECT_LE(size, uint64_t{1} << 22);
}

TEST(MemoryPlanner, RandomLifetimesNeverOverlap) {
  std::mt19937 random(1);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  uint64_t planned = 0;
  uint64_t naive = 0;
  for (int round = 0; round < 120; ++round) {
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

// Allocates nothing; fails for blocks larger than `limit`.
Result<MemoryPlan> PlanWithLimit(std::span<const MemoryRequest> requests, uint64_t limit,
                                 StatusCode code = StatusCode::kOutOfMemory) {
  return PlanAndAllocate(requests, /*max_block=*/uint64_t{1} << 40, [&](const MemoryPlan& plan) {
    for (uint64_t size : plan.block_size) {
      if (size > limit) return Status(code, "out of memory");
    }
    return Status();
  });
}

TEST(PlanAndAllocate, SplitsBlocksThatCannotBeAllocated) {
  const std::vector<MemoryRequest> requests(8, {20 * kMiB, 256, 0, 0});
  const Result<MemoryPlan> one = PlanWithLimit(requests, 200 * kMiB);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->block_size, std::vector<uint64_t>{160 * kMiB});
  const Result<MemoryPlan> split = PlanWithLimit(requests, 50 * kMiB);
  ASSERT_TRUE(split.ok()) << split.status().message();
  EXPECT_EQ(split->block_size, std::vector<uint64_t>(4, 40 * kMiB));
  EXPECT_EQ(split->planned_bytes, one->planned_bytes);
  EXPECT_EQ(ValueOf(PlanWithLimit(requests, 90 * kMiB)).block_size,
            std::vector<uint64_t>(2, 80 * kMiB));
  EXPECT_EQ(ValueOf(PlanWithLimit(requests, 20 * kMiB)).block_size,
            std::vector<uint64_t>(8, 20 * kMiB));
}

TEST(PlanAndAllocate, FailsIfSplittingDoesNotHelp) {
  const std::vector<MemoryRequest> requests(8, {20 * kMiB, 256, 0, 0});
  EXPECT_EQ(PlanWithLimit(requests, 19 * kMiB).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(PlanWithLimit(requests, 19 * kMiB).status().message(), "out of memory");
  EXPECT_EQ(PlanWithLimit(requests, 50 * kMiB, StatusCode::kDeviceLost).status().code(),
            StatusCode::kDeviceLost);
  const std::vector<MemoryRequest> small(8, {kMiB, 256, 0, 0});
  EXPECT_EQ(PlanWithLimit(small, 4 * kMiB).status().code(), StatusCode::kOutOfMemory);
}

}  // namespace
}  // namespace spirloom::graph
