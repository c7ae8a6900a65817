#include "runtime/graph/plan/joined_parts.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <vector>

#include "runtime/graph/plan/placed_updates.h"

namespace spirloom::graph {
namespace {

constexpr uint64_t kVector = 16;  // bytes that kernels may write at once
constexpr uint64_t kNowhere = UINT64_MAX;

// Whether the tensor is computed in each run, into a buffer that is its own.
bool IsMovable(const PlanTensor& tensor) {
  return tensor.alias_of == kNoTensor && tensor.is_temporary() &&
         tensor.storage() == Storage::kBuffer && tensor.size > 0 && tensor.size % kVector == 0;
}

// A node that joins tensors, where each of them goes to in its output.
struct Join {
  uint32_t whole;
  std::span<const uint32_t> parts;
  std::vector<uint64_t> offsets;  // bytes; kNowhere: the part is not copied to one place
};

Join JoinOf(const Plan& plan, const PlanNode& node) {
  const ops::KernelInfo& kernel = *node.kernel;
  Join join{node.outputs[0], {}, {}};
  const auto list = std::ranges::find(kernel.operands, true, &ops::OperandInfo::list);
  if (list == kernel.operands.end()) return join;
  join.parts = node.operands[static_cast<size_t>(list - kernel.operands.begin())];
  const PlanTensor& whole = plan.tensors[join.whole];
  for (size_t i = 0; i < join.parts.size(); ++i) {
    const int64_t element = i < node.dispatches.size() ? node.dispatches[i].joined_at : -1;
    const uint64_t offset = static_cast<uint64_t>(element) * ElementSize(whole.desc.dtype);
    const bool fits = element >= 0 && join.parts[i] != kNoTensor && offset <= whole.size &&
                      plan.tensors[join.parts[i]].size <= whole.size - offset;
    join.offsets.push_back(fits ? offset : kNowhere);
  }
  return join;
}

// Whether all parts lie in another tensor as they would in the output, which can then live there
// too: a longer join of the same tensors came first.
bool IsThereAlready(const Plan& plan, const Join& join) {
  if (join.parts.empty() || !IsMovable(plan.tensors[join.whole])) return false;
  const PlanTensor& first = plan.tensors[join.parts[0]];
  for (size_t i = 0; i < join.parts.size(); ++i) {
    if (join.offsets[i] == kNowhere) return false;
    const PlanTensor& part = plan.tensors[join.parts[i]];
    if (part.alias_of == kNoTensor || part.alias_of != first.alias_of ||
        part.alias_offset != first.alias_offset + join.offsets[i]) {
      return false;
    }
  }
  const PlanTensor& root = plan.tensors[first.alias_of];
  return root.is_temporary() || root.output >= 0;
}

void Apply(Plan& plan, const Join& join, PlanNode& node, const DeviceTraits& device) {
  if (IsThereAlready(plan, join)) {
    const PlanTensor& first = plan.tensors[join.parts[0]];
    Move(plan, join.whole, first.alias_of, first.alias_offset);
    node.in_place.assign(join.parts.size(), true);
    return;
  }
  node.in_place.assign(join.parts.size(), false);
  for (size_t i = 0; i < join.parts.size(); ++i) {
    if (join.offsets[i] == kNowhere || !IsMovable(plan.tensors[join.parts[i]])) continue;
    const uint64_t offset = plan.tensors[join.whole].alias_offset + join.offsets[i];
    if (offset % device.buffer_offset_alignment != 0) continue;
    Move(plan, join.parts[i], plan.Root(join.whole), offset);
    node.in_place[i] = true;
  }
}

}  // namespace

void JoinParts(Plan& plan, const DeviceTraits& device) {
  // From the end, so that the parts of a part find it where it will be.
  for (size_t i = plan.nodes.size(); i-- > 0;) {
    PlanNode& node = plan.nodes[i];
    if (node.op == nullptr || node.is_constant || node.kernel->joined_at.empty()) continue;
    if (plan.tensors[node.outputs[0]].storage() != Storage::kBuffer) continue;
    Apply(plan, JoinOf(plan, node), node, device);
    if (std::ranges::find(node.in_place, false) == node.in_place.end()) ++plan.aliased_views;
  }
}

}  // namespace spirloom::graph
