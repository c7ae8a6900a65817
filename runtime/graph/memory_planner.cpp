#include "runtime/graph/memory_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace spirloom::graph {
namespace {

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

struct Placed {
  uint64_t begin;
  uint64_t end;
  uint32_t first;
  uint32_t last;
};

// Where a request could go in a block, and what that wastes.
struct Candidate {
  uint64_t offset;
  bool in_gap;    // between requests that are placed; otherwise behind all it overlaps in time
  uint64_t cost;  // in a gap: bytes left over; behind: bytes the block grows by
};

bool Better(const Candidate& a, const Candidate& b) {
  if (a.in_gap != b.in_gap) return a.in_gap;
  return a.cost < b.cost;
}

// One block while it fills; `placed` is sorted by begin.
class Block {
 public:
  uint64_t size() const { return size_; }

  std::optional<Candidate> Find(const MemoryRequest& request, uint64_t max_block) const {
    std::optional<Candidate> best;
    uint64_t end = 0;  // of those that live at the same time, so far
    for (const Placed& other : placed_) {
      if (other.last < request.first || request.last < other.first) continue;
      const uint64_t offset = AlignUp(end, request.alignment);
      if (offset < other.begin && other.begin - offset >= request.size) {
        const Candidate gap{offset, /*in_gap=*/true, other.begin - offset - request.size};
        if (!best || Better(gap, *best)) best = gap;
      }
      end = std::max(end, other.end);
    }
    if (best) return best;
    const uint64_t offset = AlignUp(end, request.alignment);
    if (offset > max_block || request.size > max_block - offset) return std::nullopt;
    const uint64_t new_size = std::max(size_, offset + request.size);
    return Candidate{offset, /*in_gap=*/false, new_size - size_};
  }

  void Place(const MemoryRequest& request, uint64_t offset) {
    const Placed placed{offset, offset + request.size, request.first, request.last};
    auto position =
        std::upper_bound(placed_.begin(), placed_.end(), placed,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    placed_.insert(position, placed);
    size_ = std::max(size_, placed.end);
  }

 private:
  std::vector<Placed> placed_;
  uint64_t size_ = 0;
};

MemorySlot PlaceBest(const MemoryRequest& request, uint64_t max_block, std::vector<Block>& blocks) {
  MemorySlot slot;
  std::optional<Candidate> best;
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::optional<Candidate> candidate = blocks[i].Find(request, max_block);
    if (!candidate || (best && !Better(*candidate, *best))) continue;
    best = candidate;
    slot = {static_cast<uint32_t>(i), candidate->offset};
  }
  if (!best) {
    slot = {static_cast<uint32_t>(blocks.size()), 0};
    blocks.emplace_back();
  }
  blocks[slot.block].Place(request, slot.offset);
  return slot;
}

// Every request after the one before it, in the given order.
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

}  // namespace

Result<MemoryPlan> PlanMemory(std::span<const MemoryRequest> requests, uint64_t max_block) {
  for (const MemoryRequest& request : requests) {
    if (request.size > max_block) {
      return Status(StatusCode::kOutOfMemory, "Tensor size (" + std::to_string(request.size) +
                                                  ") exceeds the largest allocation (" +
                                                  std::to_string(max_block) + ") of the device.");
    }
  }
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].size > requests[b].size; });

  std::vector<Block> blocks;
  MemoryPlan plan;
  plan.slots.resize(requests.size());
  for (size_t i : order) plan.slots[i] = PlaceBest(requests[i], max_block, blocks);
  for (const Block& block : blocks) {
    plan.block_size.push_back(block.size());
    plan.planned_bytes += block.size();
  }
  MemoryPlan naive = PlanNaively(requests, max_block);
  plan.naive_bytes = naive.naive_bytes;
  return plan.planned_bytes <= plan.naive_bytes ? std::move(plan) : std::move(naive);
}

}  // namespace spirloom::graph
