#include "runtime/ops/packing_check.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/base/error.h"

namespace spirloom::ops {
namespace {

class PackingSteps {
 public:
  explicit PackingSteps(const OpIndex& index) : index_(index) {}

  // How many packings follow one another for this op; more than kMaxPackingSteps where that, or no
  // end, is more. `before` of them were on the way to it.
  size_t Of(const OpInfo& op, size_t before = 0) {
    if (const auto known = steps_.find(&op); known != steps_.end()) return known->second;
    if (before > kMaxPackingSteps) return 1;
    size_t most = 0;
    for (const KernelInfo& kernel : op.kernels) {
      for (const OperandInfo& operand : kernel.operands) {
        if (operand.pack_op == nullptr) continue;
        const OpEntry* packing = index_.FindOp(operand.pack_op);
        if (packing != nullptr) most = std::max(most, 1 + Of(*packing->op, before + 1));
      }
    }
    return steps_[&op] = most;
  }

 private:
  const OpIndex& index_;
  std::unordered_map<const OpInfo*, size_t> steps_;
};

// A copy whose tensor had to be copied first would not end.
Status CheckCopy(const OpInfo& op) {
  for (const KernelInfo& kernel : op.kernels) {
    for (const OperandInfo& operand : kernel.operands) {
      if (operand.source == OperandSource::kOutput) continue;
      if (operand.storage == Storage::kAuto && operand.pack_op == nullptr) continue;
      return InvalidFile({"The kernel '", kernel.name, "' of ", op.name, " wants '", operand.name,
                          "' packed or in a storage of its own; a copy binds its tensor where it "
                          "lies. Leave out the operand's storage."});
    }
  }
  return Status();
}

}  // namespace

Status CheckPacking(const OpIndex& index) {
  PackingSteps steps(index);
  for (const OpEntry& entry : index.ops()) {
    if (steps.Of(*entry.op) <= kMaxPackingSteps) continue;
    return InvalidFile({"The op '", entry.op->name,
                        "' packs an operand by way of itself, or in more than ", kMaxPackingSteps,
                        " steps."});
  }
  const OpEntry* copy = index.FindOp(kCopyOp);
  return copy == nullptr ? Status() : CheckCopy(*copy->op);
}

}  // namespace spirloom::ops
