#include "runtime/ops/packing_check.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/base/error.h"

namespace spirloom::ops {
namespace {

class PackingDepth {
 public:
  explicit PackingDepth(const OpIndex& index) : index_(index) {}

  // The packing depth of an op; more than kMaxPackingSteps if it is deeper or infinite. `before` is
  // the depth of the path to the op.
  size_t Of(const OpInfo& op, size_t before = 0) {
    if (const auto known = steps_.find(&op); known != steps_.end()) return known->second;
    if (before > kMaxPackingSteps) return 1;
    size_t max = 0;
    for (const KernelInfo& kernel : op.kernels) {
      for (const OperandInfo& operand : kernel.operands) {
        if (operand.pack_op == nullptr) continue;
        const OpEntry* packing = index_.FindOp(operand.pack_op);
        if (packing != nullptr) max = std::max(max, 1 + Of(*packing->op, before + 1));
      }
    }
    return steps_[&op] = max;
  }

 private:
  const OpIndex& index_;
  std::unordered_map<const OpInfo*, size_t> steps_;
};

// A copy that requires its tensor to be copied first would recurse infinitely.
Status CheckCopy(const OpInfo& op) {
  for (const KernelInfo& kernel : op.kernels) {
    for (const OperandInfo& operand : kernel.operands) {
      if (operand.source != OperandSource::kArg) continue;
      if (operand.storage == Storage::kAuto && operand.pack_op == nullptr) continue;
      return InvalidFile(
          "The kernel '{}' of {} requires '{}' to be packed or in a fixed storage; a copy must "
          "bind its input unchanged. Remove the operand's storage.",
          kernel.name, op.name, operand.name);
    }
  }
  return Status();
}

}  // namespace

Status CheckPacking(const OpIndex& index) {
  PackingDepth depth(index);
  for (const OpEntry& entry : index.ops()) {
    if (depth.Of(*entry.op) <= kMaxPackingSteps) continue;
    return InvalidFile(
        "The op '{}' requires itself to pack an operand, or packs in more than {} steps.",
        entry.op->name, kMaxPackingSteps);
  }
  const OpEntry* copy = index.FindOp(kCopyOp);
  return copy == nullptr ? Status() : CheckCopy(*copy->op);
}

}  // namespace spirloom::ops
