#include "runtime/graph/plan/placed_updates.h"

#include <cassert>
#include <vector>

namespace spirloom::graph {
namespace {

// How a node accesses its k-th operand.
ops::Access AccessOf(const PlanNode& node, size_t k) {
  if (node.op != nullptr) return node.kernel->operands[k].access;
  return k == 0 ? ops::Access::kRead : ops::Access::kWrite;
}

// Lets copies live in what they are copies of. Goes through the nodes from the end and remembers of
// each root what those behind do there.
class InPlace {
 public:
  explicit InPlace(Plan& plan) : plan_(plan), later_(plan.tensors.size()) {}

  void Run() {
    for (size_t i = plan_.nodes.size(); i-- > 0;) {
      const PlanNode& node = plan_.nodes[i];
      if (node.op == nullptr && TryMove(node)) continue;
      for (size_t k = 0; k < node.operands.size(); ++k) {
        for (uint32_t tensor : node.operands[k]) {
          if (tensor != kNoTensor) Touch(node, k, tensor);
        }
      }
    }
  }

 private:
  // What nodes do with a root: nothing, or only copy what is `from` there, or more.
  struct Later {
    bool touched = false;
    uint32_t from = kNoTensor;
  };

  void Touch(const PlanNode& node, size_t k, uint32_t tensor) {
    Later& later = later_[plan_.Root(tensor)];
    const bool ends_here = node.op == nullptr && k == 1 && !later.touched &&
                           later.from == kNoTensor && plan_.Root(tensor) == tensor;
    if (ends_here) {
      later.from = node.operands[0][0];
    } else {
      later.touched = true;
    }
  }

  // The copy's own later uses become the source's.
  bool TryMove(const PlanNode& node) {
    const uint32_t source = node.operands[0][0];
    const uint32_t target = node.operands[1][0];
    const uint32_t root = plan_.Root(source);
    const PlanTensor& copy = plan_.tensors[target];
    if (copy.alias_of != kNoTensor || !copy.is_temporary() || !IsFree(root, target) ||
        plan_.tensors[root].size != copy.size) {
      return false;
    }
    Move(plan_, target, root, 0);
    later_[root] = later_[target];
    return true;
  }

  // Whether `target` may have the memory of `root` from here on. A copy of it to there, a state's
  // at the end of a run, then has nothing to do.
  bool IsFree(uint32_t root, uint32_t target) const {
    const PlanTensor& tensor = plan_.tensors[root];
    const Later& later = later_[root];
    if (!tensor.is_temporary() && tensor.state < 0) return false;
    if (later.touched) return false;
    return later.from == kNoTensor || plan_.AreInOnePlace(later.from, target);
  }

  Plan& plan_;
  std::vector<Later> later_;  // by root
};

// Whether a node that writes `update`, or a later one, reads `state`; both are roots.
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

void PlaceStates(Plan& plan) {
  for (const PlanNode& node : plan.nodes) {
    if (node.op != nullptr || plan.tensors[node.operands[1][0]].state < 0) continue;
    const uint32_t state = node.operands[1][0];
    const uint32_t update = plan.Root(node.operands[0][0]);
    const PlanTensor& source = plan.tensors[update];
    if (source.is_temporary() && source.size == plan.tensors[state].size &&
        !IsReadWithUpdate(plan, state, update)) {
      Move(plan, update, state, 0);
    }
  }
}

}  // namespace

void Move(Plan& plan, uint32_t part, uint32_t root, uint64_t offset) {
  assert(plan.tensors[part].alias_of == kNoTensor && plan.tensors[part].is_temporary());
  assert(plan.tensors[root].alias_of == kNoTensor);
  assert(offset + plan.tensors[part].size <= plan.tensors[root].size);
  plan.tensors[part].alias_of = root;
  plan.tensors[part].alias_offset = offset;
  for (PlanTensor& tensor : plan.tensors) {
    if (tensor.alias_of != part) continue;
    tensor.alias_of = root;
    tensor.alias_offset += offset;
  }
}

void PlaceUpdates(Plan& plan) {
  InPlace(plan).Run();
  PlaceStates(plan);
}

}  // namespace spirloom::graph
