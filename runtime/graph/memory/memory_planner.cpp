#include "runtime/graph/memory/memory_planner.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/base/align.h"
#include "runtime/base/error.h"
#include "runtime/base/sorted_order.h"
#include "runtime/graph/memory/lifetime_index.h"

namespace spirloom::graph {
namespace {

// Maximum number of visited requests and blocks. Graphs of 100,000 tensors need a fraction of it.
// It bounds the time for malicious graphs whose tensors are all live at once.
constexpr size_t kMaxVisits = size_t{1} << 22;

// Minimum block size in bytes for retries with smaller blocks.
constexpr uint64_t kMinBlock = uint64_t{16} << 20;

// Maximum number of placements over all orders.
constexpr size_t kMaxPlacements = 4'000;

// A possible slot of a request in a block, and its cost.
struct Candidate {
  MemorySlot slot;
  bool in_gap;    // between placed requests; otherwise after all that overlap in time
  uint64_t cost;  // gap: unused bytes; otherwise: growth of the block in bytes
};

bool Better(const Candidate& a, const Candidate& b) {
  if (a.in_gap != b.in_gap) return a.in_gap;
  return a.cost < b.cost;
}

// Bytes of a block that are occupied during a request's lifetime.
struct Occupied {
  uint32_t block;
  uint64_t begin;
  uint64_t end;
};

// Assigns slots to requests, one after another.
class Planner {
 public:
  Planner(std::span<const MemoryRequest> requests, uint64_t max_block)
      : requests_(requests), max_block_(max_block), placed_(requests), slots_(requests.size()) {}

  void Place(size_t i) {
    const MemoryRequest& request = requests_[i];
    const bool search = visits_ < kMaxVisits;
    const MemorySlot slot = search ? Best(request).value_or(NewBlock()) : Append(request);
    if (slot.block == sizes_.size()) sizes_.push_back(0);
    sizes_[slot.block] = std::max(sizes_[slot.block], slot.offset + request.size);
    slots_[i] = slot;
    if (search) placed_.Add(i);
  }

  MemoryPlan Finish() {
    MemoryPlan plan;
    plan.slots = std::move(slots_);
    plan.planned_bytes = std::accumulate(sizes_.begin(), sizes_.end(), uint64_t{0});
    plan.block_size = std::move(sizes_);
    return plan;
  }

 private:
  MemorySlot NewBlock() const { return {static_cast<uint32_t>(sizes_.size()), 0}; }

  // Returns a slot at the end of the last block, independent of lifetimes.
  MemorySlot Append(const MemoryRequest& request) const {
    if (sizes_.empty()) return NewBlock();
    const uint64_t offset = AlignUp(sizes_.back(), request.alignment);
    if (offset > max_block_ || request.size > max_block_ - offset) return NewBlock();
    return {static_cast<uint32_t>(sizes_.size() - 1), offset};
  }

  std::optional<MemorySlot> Best(const MemoryRequest& request) {
    FindOccupied(request);
    std::optional<Candidate> best;
    std::span<const Occupied> rest = occupied_;
    for (uint32_t block = 0; block < sizes_.size(); ++block) {
      const auto end = std::find_if(rest.begin(), rest.end(), [&](const Occupied& occupied) {
        return occupied.block != block;
      });
      const auto count = static_cast<size_t>(end - rest.begin());
      const std::optional<Candidate> candidate = BestIn(block, request, rest.first(count));
      rest = rest.subspan(count);
      if (candidate && (!best || Better(*candidate, *best))) best = candidate;
    }
    if (!best) return std::nullopt;
    return best->slot;
  }

  // Sets occupied_ to the bytes of requests with overlapping lifetimes, sorted.
  void FindOccupied(const MemoryRequest& request) {
    occupied_.clear();
    placed_.ForEachOverlapping(request.first, request.last, [&](size_t i) {
      const MemorySlot& slot = slots_[i];
      occupied_.push_back({slot.block, slot.offset, slot.offset + requests_[i].size});
    });
    visits_ += occupied_.size() + sizes_.size();
    std::sort(occupied_.begin(), occupied_.end(), [](const Occupied& a, const Occupied& b) {
      return a.block != b.block ? a.block < b.block : a.begin < b.begin;
    });
  }

  std::optional<Candidate> BestIn(uint32_t block, const MemoryRequest& request,
                                  std::span<const Occupied> occupied) const {
    std::optional<Candidate> best;
    uint64_t end = 0;  // end of the occupied bytes so far
    for (const Occupied& other : occupied) {
      const uint64_t offset = AlignUp(end, request.alignment);
      if (offset < other.begin && other.begin - offset >= request.size) {
        const Candidate gap{{block, offset}, /*in_gap=*/true, other.begin - offset - request.size};
        if (!best || Better(gap, *best)) best = gap;
      }
      end = std::max(end, other.end);
    }
    if (best) return best;
    const uint64_t offset = AlignUp(end, request.alignment);
    if (offset > max_block_ || request.size > max_block_ - offset) return std::nullopt;
    const uint64_t size = sizes_[block];
    const uint64_t growth = std::max(size, offset + request.size) - size;
    return Candidate{{block, offset}, /*in_gap=*/false, growth};
  }

  std::span<const MemoryRequest> requests_;
  const uint64_t max_block_;
  LifetimeIndex placed_;
  std::vector<MemorySlot> slots_;
  std::vector<uint64_t> sizes_;     // sizes of the blocks
  std::vector<Occupied> occupied_;  // for the current request; a member to avoid reallocation
  size_t visits_ = 0;
};

// Checks the alignment and range of each slot. The fuzzer checks for overlaps.
[[maybe_unused]] bool IsValid(const MemoryPlan& plan, std::span<const MemoryRequest> requests,
                              uint64_t max_block) {
  for (size_t i = 0; i < requests.size(); ++i) {
    const MemorySlot& slot = plan.slots[i];
    const uint64_t size = plan.block_size[slot.block];
    if (slot.offset % requests[i].alignment != 0 || size > max_block || slot.offset > size ||
        requests[i].size > size - slot.offset) {
      return false;
    }
  }
  return true;
}

// Returns the maximum over all steps of the live bytes: a lower bound of any plan.
uint64_t MaxLiveBytes(std::span<const MemoryRequest> requests) {
  std::map<uint64_t, uint64_t> changes;  // change of the live bytes at each step, modulo 2^64
  for (const MemoryRequest& request : requests) {
    changes[request.first] += request.size;
    changes[uint64_t{request.last} + 1] -= request.size;
  }
  uint64_t live = 0;
  uint64_t largest = 0;
  for (const auto& [step, change] : changes) largest = std::max(largest, live += change);
  return largest;
}

// Places requests consecutively in the given order.
MemoryPlan PlanNaively(std::span<const MemoryRequest> requests, uint64_t max_block) {
  MemoryPlan plan;
  for (const MemoryRequest& request : requests) {
    uint64_t offset =
        plan.block_size.empty() ? max_block : AlignUp(plan.block_size.back(), request.alignment);
    if (offset > max_block || request.size > max_block - offset) {
      plan.block_size.push_back(0);
      offset = 0;
    }
    plan.slots.push_back({static_cast<uint32_t>(plan.block_size.size() - 1), offset});
    plan.block_size.back() = offset + request.size;
  }
  plan.naive_bytes = std::accumulate(plan.block_size.begin(), plan.block_size.end(), uint64_t{0});
  plan.planned_bytes = plan.naive_bytes;
  return plan;
}

std::vector<size_t> LargestFirst(std::span<const MemoryRequest> requests) {
  std::vector<uint64_t> sizes;
  for (const MemoryRequest& request : requests) sizes.push_back(~uint64_t{request.size});
  return SortedOrder(sizes);
}

MemoryPlan PlanInOrder(std::span<const MemoryRequest> requests, uint64_t max_block,
                       std::span<const size_t> order) {
  Planner planner(requests, max_block);
  for (size_t i : order) planner.Place(i);
  return planner.Finish();
}

// Returns the request with the highest end offset in the largest block. Placing it earlier may
// shrink the block.
size_t Topmost(std::span<const MemoryRequest> requests, const MemoryPlan& plan) {
  const auto largest =
      static_cast<uint32_t>(std::ranges::max_element(plan.block_size) - plan.block_size.begin());
  for (size_t i = 0; i < requests.size(); ++i) {
    const MemorySlot& slot = plan.slots[i];
    if (slot.block == largest && slot.offset + requests[i].size == plan.block_size[slot.block]) {
      return i;
    }
  }
  return 0;
}

// Places the largest requests first. While the plan exceeds `live_bytes`, retries with the topmost
// request moved to the front.
MemoryPlan PlanGreedily(std::span<const MemoryRequest> requests, uint64_t max_block,
                        uint64_t live_bytes) {
  std::vector<size_t> order = LargestFirst(requests);
  MemoryPlan best = PlanInOrder(requests, max_block, order);
  MemoryPlan plan = best;
  for (size_t placed = requests.size(); placed < kMaxPlacements; placed += requests.size()) {
    if (best.planned_bytes == live_bytes) break;
    const auto top = std::ranges::find(order, Topmost(requests, plan));
    std::rotate(order.begin(), top, top + 1);
    plan = PlanInOrder(requests, max_block, order);
    if (plan.planned_bytes < best.planned_bytes) best = plan;
  }
  return best;
}

}  // namespace

Result<MemoryPlan> PlanMemory(std::span<const MemoryRequest> requests, uint64_t max_block) {
  for (const MemoryRequest& request : requests) {
    if (request.size > max_block) {
      return Error(
          StatusCode::kOutOfMemory,
          "Tensor size ({} bytes) exceeds the maximum allocation ({} bytes) of the device.",
          request.size, max_block);
    }
  }
  MemoryPlan naive = PlanNaively(requests, max_block);
  naive.live_bytes = MaxLiveBytes(requests);
  if (requests.empty()) return naive;
  MemoryPlan plan = PlanGreedily(requests, max_block, naive.live_bytes);
  plan.naive_bytes = naive.naive_bytes;
  plan.live_bytes = naive.live_bytes;
  assert(IsValid(plan, requests, max_block) && IsValid(naive, requests, max_block));
  assert(plan.live_bytes <= plan.planned_bytes);
  return plan.planned_bytes <= plan.naive_bytes ? std::move(plan) : std::move(naive);
}

Result<MemoryPlan> PlanAndAllocate(std::span<const MemoryRequest> requests, uint64_t max_block,
                                   const std::function<Status(const MemoryPlan&)>& allocate) {
  uint64_t min = kMinBlock;
  for (const MemoryRequest& request : requests) min = std::max(min, request.size);
  while (true) {
    SPIRLOOM_TRY_ASSIGN(MemoryPlan plan, PlanMemory(requests, max_block));
    Status status = allocate(plan);
    if (status.ok()) return plan;
    if (status.code() != StatusCode::kOutOfMemory || plan.block_size.empty()) return status;
    max_block = *std::ranges::max_element(plan.block_size) / 2;
    if (max_block < min) return status;
  }
}

}  // namespace spirloom::graph
