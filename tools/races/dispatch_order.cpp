#include "tools/races/dispatch_order.h"

#include <algorithm>
#include <random>
#include <unordered_map>

#include "tools/plan/accessed_tensors.h"

namespace spirloom::tools {
namespace {

std::vector<TensorRange> RangesOf(const graph::Plan& plan, const std::vector<uint32_t>& tensors) {
  std::vector<TensorRange> ranges;
  for (const uint32_t tensor : tensors) {
    const graph::PlanTensor& part = plan.tensors[tensor];
    ranges.push_back({plan.Root(tensor), part.alias_offset, part.alias_offset + part.size});
  }
  return ranges;
}

bool Overlap(std::span<const TensorRange> ranges, const TensorRange& range) {
  return std::ranges::any_of(ranges, [&](const TensorRange& each) { return each.Overlaps(range); });
}

// Collects the edges from earlier dispatches to later ones.
class DependencyGraph {
 public:
  explicit DependencyGraph(std::span<const DispatchAccess> accesses)
      : followers_(accesses.size()), predecessors_(accesses.size()) {
    for (uint32_t i = 0; i < accesses.size(); ++i) {
      for (const TensorRange& range : accesses[i].reads) Add(i, range, /*write=*/false);
      for (const TensorRange& range : accesses[i].writes) Add(i, range, /*write=*/true);
    }
  }

  std::span<const uint32_t> followers(uint32_t dispatch) const { return followers_[dispatch]; }
  const std::vector<size_t>& predecessors() const { return predecessors_; }

 private:
  struct Earlier {
    uint32_t dispatch;
    TensorRange range;
    bool write;
  };

  void Add(uint32_t dispatch, const TensorRange& range, bool write) {
    std::vector<Earlier>& earlier = earlier_[range.tensor];
    for (const Earlier& each : earlier) {
      if (each.dispatch == dispatch || (!write && !each.write)) continue;
      if (!each.range.Overlaps(range)) continue;
      followers_[each.dispatch].push_back(dispatch);
      ++predecessors_[dispatch];
    }
    earlier.push_back({dispatch, range, write});
  }

  std::vector<std::vector<uint32_t>> followers_;
  std::vector<size_t> predecessors_;
  std::unordered_map<uint32_t, std::vector<Earlier>> earlier_;  // by tensor
};

}  // namespace

std::vector<DispatchAccess> AccessesOf(const internal::CompiledGraph& graph) {
  std::vector<DispatchAccess> accesses;
  for (const graph::Dispatch& dispatch : graph.dispatches) {
    accesses.push_back(
        {RangesOf(graph.plan(), AccessedTensors(graph.plan(), dispatch, /*write=*/false)),
         RangesOf(graph.plan(), AccessedTensors(graph.plan(), dispatch, /*write=*/true))});
  }
  return accesses;
}

std::vector<uint32_t> PermutedOrder(std::span<const DispatchAccess> accesses, uint32_t seed) {
  const DependencyGraph graph(accesses);
  std::vector<size_t> waiting = graph.predecessors();
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    if (waiting[i] == 0) ready.push_back(i);
  }
  std::mt19937 random(seed);
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const uint32_t next = ready.back();
    ready.pop_back();
    order.push_back(next);
    for (const uint32_t follower : graph.followers(next)) {
      if (--waiting[follower] == 0) ready.push_back(follower);
    }
  }
  return order;
}

std::optional<uint32_t> FindCause(std::span<const DispatchAccess> accesses, const Digests& a,
                                  const Digests& b, const TensorRange& result) {
  // The first dispatch before `end` that wrote other bytes to one of the ranges.
  const auto find = [&](std::span<const TensorRange> ranges,
                        size_t end) -> std::optional<uint32_t> {
    for (uint32_t i = 0; i < end; ++i) {
      if (a[i] == b[i]) continue;
      for (const TensorRange& write : accesses[i].writes) {
        if (Overlap(ranges, write)) return i;
      }
    }
    return std::nullopt;
  };
  std::optional<uint32_t> cause = find({&result, 1}, accesses.size());
  while (cause) {
    const std::optional<uint32_t> earlier = find(accesses[*cause].reads, *cause);
    if (!earlier) break;
    cause = earlier;
  }
  return cause;
}

}  // namespace spirloom::tools
