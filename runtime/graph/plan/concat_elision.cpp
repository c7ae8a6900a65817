#include "runtime/graph/plan/concat_elision.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <vector>

#include "runtime/graph/plan/alias_index.h"

namespace spirloom::graph {
namespace {

constexpr uint64_t kVectorBytes = 16;  // bytes of the widest store of kernels
constexpr uint64_t kNoOffset = UINT64_MAX;

// Returns true if the tensor is computed in each run and has a buffer of its own.
bool CanBeAliased(const PlanTensor& tensor) {
  return tensor.alias_of == kNoTensor && tensor.is_temporary() &&
         tensor.storage() == Storage::kBuffer && tensor.size > 0 && tensor.size % kVectorBytes == 0;
}

// A node that concatenates tensors, with the offset of each part in its output.
struct Concatenation {
  uint32_t whole;
  std::span<const uint32_t> parts;
  std::vector<uint64_t> offsets;  // in bytes; kNoOffset: the part is not contiguous in the output
};

Concatenation ConcatenationOf(const Plan& plan, const PlanNode& node) {
  const ops::KernelInfo& kernel = *node.kernel;
  Concatenation concat{node.outputs[0], {}, {}};
  const auto list = std::ranges::find(kernel.operands, true, &ops::OperandInfo::list);
  if (list == kernel.operands.end()) return concat;
  concat.parts = node.operands[static_cast<size_t>(list - kernel.operands.begin())];
  const PlanTensor& whole = plan.tensors[concat.whole];
  for (size_t i = 0; i < concat.parts.size(); ++i) {
    const int64_t element = i < node.dispatches.size() ? node.dispatches[i].concat_offset : -1;
    const uint64_t element_size = ElementSize(whole.desc.dtype);
    // The element comes from a formula of the library: the product may overflow.
    const bool within = element >= 0 && static_cast<uint64_t>(element) <= whole.size / element_size;
    const uint64_t offset = within ? static_cast<uint64_t>(element) * element_size : 0;
    const bool fits = within && concat.parts[i] != kNoTensor &&
                      plan.tensors[concat.parts[i]].size <= whole.size - offset;
    concat.offsets.push_back(fits ? offset : kNoOffset);
  }
  return concat;
}

// Returns true if all parts are in another tensor at the same relative offsets (after a larger
// concatenation of the same tensors), so that the output can alias that tensor.
bool IsAlreadyConcatenated(const Plan& plan, const Concatenation& concat) {
  if (concat.parts.empty() || !CanBeAliased(plan.tensors[concat.whole])) return false;
  const PlanTensor& first = plan.tensors[concat.parts[0]];
  for (size_t i = 0; i < concat.parts.size(); ++i) {
    if (concat.offsets[i] == kNoOffset) return false;
    const PlanTensor& part = plan.tensors[concat.parts[i]];
    if (part.alias_of == kNoTensor || part.alias_of != first.alias_of ||
        part.alias_offset != first.alias_offset + concat.offsets[i]) {
      return false;
    }
  }
  const PlanTensor& root = plan.tensors[first.alias_of];
  return root.is_temporary() || root.output >= 0;
}

void Apply(Plan& plan, AliasIndex& aliases, const Concatenation& concat, PlanNode& node,
           const DeviceTraits& device) {
  if (IsAlreadyConcatenated(plan, concat)) {
    const PlanTensor& first = plan.tensors[concat.parts[0]];
    aliases.AliasTo(concat.whole, first.alias_of, first.alias_offset);
    node.in_place = std::vector<bool>(concat.parts.size(), true);
    return;
  }
  node.in_place = std::vector<bool>(concat.parts.size());
  for (size_t i = 0; i < concat.parts.size(); ++i) {
    if (concat.offsets[i] == kNoOffset || !CanBeAliased(plan.tensors[concat.parts[i]])) continue;
    const uint64_t offset = plan.tensors[concat.whole].alias_offset + concat.offsets[i];
    if (offset % device.buffer_offset_alignment != 0) continue;
    aliases.AliasTo(concat.parts[i], plan.Root(concat.whole), offset);
    node.in_place[i] = true;
  }
}

}  // namespace

void ElideConcats(Plan& plan, const DeviceTraits& device) {
  AliasIndex aliases(plan);
  // Backwards, so that nested concatenations see the final location of their output.
  for (size_t i = plan.nodes.size(); i-- > 0;) {
    PlanNode& node = plan.nodes[i];
    if (node.op == nullptr || node.is_constant || node.kernel->concat_offset.empty()) continue;
    if (plan.tensors[node.outputs[0]].storage() != Storage::kBuffer) continue;
    Apply(plan, aliases, ConcatenationOf(plan, node), node, device);
    if (std::ranges::find(node.in_place, false) == node.in_place.end()) ++plan.aliased_views;
  }
}

}  // namespace spirloom::graph
