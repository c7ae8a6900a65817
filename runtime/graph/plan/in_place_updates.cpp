#include "runtime/graph/plan/in_place_updates.h"

#include <vector>

#include "runtime/graph/plan/alias_index.h"

namespace spirloom::graph {
namespace {

// Returns the access of a node to its k-th operand.
ops::Access AccessOf(const PlanNode& node, size_t k) {
  if (node.op != nullptr) return node.kernel->operands[k].access;
  return k == 0 ? ops::Access::kRead : ops::Access::kWrite;
}

// Eliminates copies by aliasing the destination to the source. Visits the nodes backwards and
// tracks how later nodes use each root.
class UpdateInPlacePass {
 public:
  UpdateInPlacePass(Plan& plan, AliasIndex& aliases)
      : plan_(plan), aliases_(aliases), later_(plan.tensors.size()) {}

  void Run() {
    for (size_t i = plan_.nodes.size(); i-- > 0;) {
      const PlanNode& node = plan_.nodes[i];
      if (node.op == nullptr) AliasIfPossible(node);
      for (size_t k = 0; k < node.operands.size(); ++k) {
        for (uint32_t tensor : node.operands[k]) {
          if (tensor != kNoTensor) MarkUse(node, k, tensor);
        }
      }
    }
  }

 private:
  // Later uses of a root: none, only a copy of `copied_from` to it, or other uses.
  struct LaterUses {
    bool used = false;
    uint32_t copied_from = kNoTensor;
  };

  void MarkUse(const PlanNode& node, size_t k, uint32_t tensor) {
    LaterUses& later = later_[plan_.Root(tensor)];
    const bool is_copy_to_root = node.op == nullptr && k == 1 && !later.used &&
                                 later.copied_from == kNoTensor && plan_.Root(tensor) == tensor;
    if (is_copy_to_root) {
      later.copied_from = node.operands[0][0];
    } else {
      later.used = true;
    }
  }

  void AliasIfPossible(const PlanNode& node) {
    const uint32_t source = node.operands[0][0];
    const uint32_t target = node.operands[1][0];
    const uint32_t root = plan_.Root(source);
    const PlanTensor& copy = plan_.tensors[target];
    if (copy.alias_of == kNoTensor && copy.is_temporary() && CanShareMemory(root, target) &&
        plan_.tensors[root].size == copy.size) {
      aliases_.AliasTo(target, root, 0);
    }
  }

  // Returns true if `target` can use the memory of `root` after the current node. A copy of
  // `target` to `root` at the end of a run (of a state) then becomes a no-op.
  bool CanShareMemory(uint32_t root, uint32_t target) const {
    const PlanTensor& tensor = plan_.tensors[root];
    const LaterUses& later = later_[root];
    if (!tensor.is_temporary() && tensor.state < 0) return false;
    if (later.used) return false;
    return later.copied_from == kNoTensor || plan_.HaveSameAddress(later.copied_from, target);
  }

  Plan& plan_;
  AliasIndex& aliases_;
  std::vector<LaterUses> later_;  // indexed by root
};

// Returns true if `state` is read by a node that writes `update`, or by a later one. Both are
// roots.
bool IsReadWithUpdate(const Plan& plan, uint32_t state, uint32_t update) {
  bool written = false;
  for (const PlanNode& node : plan.nodes) {
    bool read = false;
    for (size_t k = 0; k < node.operands.size(); ++k) {
      const ops::Access access = AccessOf(node, k);
      for (uint32_t tensor : node.operands[k]) {
        if (tensor == kNoTensor) continue;
        const uint32_t root = plan.Root(tensor);
        read |= root == state && access != ops::Access::kWrite;
        written |= root == update && access != ops::Access::kRead;
      }
    }
    if (read && written) return true;
  }
  return false;
}

void AliasStateUpdates(Plan& plan, AliasIndex& aliases) {
  for (const PlanNode& node : plan.nodes) {
    if (node.op != nullptr || plan.tensors[node.operands[1][0]].state < 0) continue;
    const uint32_t state = node.operands[1][0];
    const uint32_t update = plan.Root(node.operands[0][0]);
    const PlanTensor& source = plan.tensors[update];
    if (source.is_temporary() && source.size == plan.tensors[state].size &&
        !IsReadWithUpdate(plan, state, update)) {
      aliases.AliasTo(update, state, 0);
    }
  }
}

}  // namespace

void UpdateInPlace(Plan& plan) {
  AliasIndex aliases(plan);
  UpdateInPlacePass(plan, aliases).Run();
  AliasStateUpdates(plan, aliases);
}

}  // namespace spirloom::graph
