#include "tests/fuzz/memory_stages.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "runtime/graph/memory/memory_planner.h"
#include "runtime/graph/record/barrier_tracker.h"
#include "tests/fuzz/fuzzing.h"

namespace spirloom::fuzz {
namespace {

using graph::Dispatch;
using graph::kNoTensor;
using graph::MemoryAccess;
using graph::MemoryPlan;
using graph::MemoryRequest;
using graph::MemorySlot;
using graph::Plan;
using graph::PlanTensor;

// Limits of the quadratic checks.
constexpr size_t kMaxRequests = 512;
constexpr size_t kMaxSteps = 512;

// The root tensors of a plan's activations and their memory requests.
struct Activations {
  std::unordered_map<uint32_t, size_t> position;
  std::vector<MemoryRequest> requests;
};

uint64_t SizeOf(const PlanTensor& tensor, uint64_t granularity) {
  uint64_t size = tensor.buffer_size();
  if (IsTexture(tensor.storage())) {
    const graph::TextureExtent texels = graph::TextureExtentOf(tensor.desc.shape);
    size = texels.width * texels.height * texels.depth * 4 * ElementSize(tensor.desc.dtype);
  }
  return (size + granularity - 1) / granularity * granularity;
}

bool IsActivation(const PlanTensor& root) { return root.size > 0 && root.is_temporary(); }

Activations ActivationsOf(const Plan& plan, std::span<const Dispatch* const> run,
                          const FuzzedDevice& device) {
  Activations found;
  for (size_t step = 0; step < run.size(); ++step) {
    for (uint32_t tensor : run[step]->tensors) {
      if (tensor == kNoTensor || !IsActivation(plan.tensors[plan.Root(tensor)])) continue;
      const uint32_t root = plan.Root(tensor);
      const auto now = static_cast<uint32_t>(step);
      const auto [at, added] = found.position.emplace(root, found.requests.size());
      if (added) {
        const uint64_t alignment =
            std::max(device.granularity, device.traits.buffer_offset_alignment);
        const uint64_t size = SizeOf(plan.tensors[root], device.granularity);
        found.requests.push_back({size, alignment, now, now});
      }
      found.requests[at->second].last = now;
    }
  }
  return found;
}

void CheckSlots(std::span<const MemoryRequest> requests, const MemoryPlan& plan,
                uint64_t max_block) {
  Require(plan.slots.size() == requests.size(), "every request has a slot");
  Require(plan.planned_bytes <= plan.naive_bytes, "the plan is not larger than without sharing");
  Require(plan.planned_bytes >= plan.live_bytes, "the plan is at least the peak of live bytes");
  for (uint64_t size : plan.block_size) Require(size <= max_block, "no block is too large");
  for (size_t i = 0; i < requests.size(); ++i) {
    const MemorySlot& slot = plan.slots[i];
    Require(slot.block < plan.block_size.size(), "a slot is in a block");
    Require(slot.offset % requests[i].alignment == 0, "a slot is aligned");
    Require(slot.offset + requests[i].size <= plan.block_size[slot.block], "a slot fits its block");
  }
  if (requests.size() > kMaxRequests) return;
  for (size_t i = 0; i < requests.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const bool at_once =
          requests[i].first <= requests[k].last && requests[k].first <= requests[i].last;
      const bool overlap = plan.slots[i].block == plan.slots[k].block &&
                           plan.slots[i].offset < plan.slots[k].offset + requests[k].size &&
                           plan.slots[k].offset < plan.slots[i].offset + requests[i].size;
      Require(!at_once || !overlap, "live tensors do not overlap");
    }
  }
}

bool Conflict(const MemoryAccess& a, const MemoryAccess& b) {
  return a.memory == b.memory && a.begin < b.end && b.begin < a.end && (a.write || b.write);
}

// The memory ranges that a dispatch accesses: activations in the plan's blocks, each other root in
// a separate memory object.
std::vector<MemoryAccess> RangesOf(const Plan& plan, const Dispatch& dispatch,
                                   const Activations& activations, const MemoryPlan& memory) {
  std::vector<MemoryAccess> ranges;
  for (const Binding& binding : BindingsOf(plan, dispatch)) {
    const PlanTensor& tensor = plan.tensors[binding.tensor];
    if (tensor.size == 0) continue;
    const uint32_t root = plan.Root(binding.tensor);
    const auto found = activations.position.find(root);
    const bool planned = found != activations.position.end();
    const auto blocks = static_cast<uint32_t>(memory.block_size.size());
    const uint32_t id = planned ? memory.slots[found->second].block : blocks + root;
    const uint64_t start = planned ? memory.slots[found->second].offset : 0;
    const uint64_t begin = start + tensor.alias_offset;
    const uint64_t end = IsTexture(tensor.storage()) ? begin + SizeOf(tensor, /*granularity=*/1)
                                                     : begin + tensor.buffer_size();
    if (binding.read) ranges.push_back({id, begin, end, false});
    if (binding.write) ranges.push_back({id, begin, end, true});
  }
  return ranges;
}

// Compares the tracker with a check of all pairs of accesses since the last barrier.
class BarrierCheck {
 public:
  void NextStep(std::span<const MemoryAccess> accesses) {
    const bool needed = std::ranges::any_of(accesses, [&](const MemoryAccess& access) {
      return std::ranges::any_of(
          since_, [&](const MemoryAccess& earlier) { return Conflict(access, earlier); });
    });
    Require(tracker_.NextStep(accesses) == needed,
            "a barrier is inserted exactly if two steps conflict");
    if (needed) since_.clear();
    since_.insert(since_.end(), accesses.begin(), accesses.end());
  }

 private:
  graph::BarrierTracker tracker_;
  std::vector<MemoryAccess> since_;
};

}  // namespace

std::vector<Binding> BindingsOf(const Plan& plan, const Dispatch& dispatch) {
  if (dispatch.pipeline == graph::kBufferCopy) {
    return {{dispatch.tensors[0], true, false}, {dispatch.tensors[1], false, true}};
  }
  const ops::KernelInfo& kernel = *plan.nodes[dispatch.node].kernel;
  std::vector<Binding> bindings;
  for (size_t i = 0; i < dispatch.tensors.size(); ++i) {
    if (dispatch.tensors[i] == kNoTensor) continue;
    const ops::Access access = kernel.operands[i].access;
    bindings.push_back(
        {dispatch.tensors[i], access != ops::Access::kWrite, access != ops::Access::kRead});
  }
  return bindings;
}

bool PlaceInMemory(const Plan& plan, const graph::DispatchList& list, const FuzzedDevice& device) {
  std::vector<const Dispatch*> run;
  for (const Dispatch& dispatch : list.dispatches) {
    if (!plan.nodes[dispatch.node].is_constant) run.push_back(&dispatch);
  }
  const Activations activations = ActivationsOf(plan, run, device);
  const auto memory = graph::PlanMemory(activations.requests, device.max_block);
  if (!memory.ok()) return false;
  CheckSlots(activations.requests, *memory, device.max_block);
  BarrierCheck barriers;
  for (size_t i = 0; i < std::min(run.size(), kMaxSteps); ++i) {
    barriers.NextStep(RangesOf(plan, *run[i], activations, *memory));
  }
  return true;
}

}  // namespace spirloom::fuzz
