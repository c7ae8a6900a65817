#include "runtime/graph/plan/verify_plan.h"

#include <set>
#include <vector>

#include "runtime/base/error.h"

namespace spirloom::graph {
namespace {

class Verifier {
 public:
  Verifier(const Plan& plan, const DeviceTraits& device) : plan_(plan), device_(device) {}

  Status Run() const {
    for (uint32_t i = 0; i < plan_.tensors.size(); ++i) SPIRLOOM_TRY(CheckTensor(i));
    for (size_t i = 0; i < plan_.nodes.size(); ++i) SPIRLOOM_TRY(CheckNode(i));
    for (uint32_t input : plan_.inputs) {
      if (!IsTensor(input)) return Broken("an input is not a tensor", input);
    }
    SPIRLOOM_TRY(CheckResults());
    return plan_.nodes.empty() ? Status() : CheckReads();
  }

 private:
  static Status Broken(const char* what, size_t index) {
    return Error(StatusCode::kInternal, "The plan is inconsistent: {} ({}).", what, index);
  }

  bool IsTensor(uint32_t tensor) const { return tensor < plan_.tensors.size(); }

  Status CheckTensor(uint32_t i) const {
    const PlanTensor& tensor = plan_.tensors[i];
    uint64_t count = 1;
    for (int64_t dim : tensor.desc.shape) {
      if (dim < 0) return Broken("a dimension of a tensor is negative", i);
      count *= static_cast<uint64_t>(dim);
    }
    if (tensor.size != count * ElementSize(tensor.desc.dtype)) {
      return Broken("the size of a tensor does not match its shape", i);
    }
    if (tensor.storage() == Storage::kAuto) return Broken("a tensor has no storage", i);
    if (IsTexture(tensor.storage()) && !FitsTexture(tensor.desc, tensor.storage(), device_)) {
      return Broken("a texture exceeds the device", i);
    }
    return tensor.alias_of == kNoTensor ? Status() : CheckAlias(i);
  }

  Status CheckAlias(uint32_t i) const {
    const PlanTensor& tensor = plan_.tensors[i];
    if (!IsTensor(tensor.alias_of)) return Broken("an alias has no root", i);
    const PlanTensor& root = plan_.tensors[tensor.alias_of];
    if (root.alias_of != kNoTensor) return Broken("the root of an alias is an alias", i);
    if (root.storage() != tensor.storage()) return Broken("an alias has another storage", i);
    if (tensor.alias_offset > root.size || tensor.size > root.size - tensor.alias_offset) {
      return Broken("an alias exceeds its root", i);
    }
    return Status();
  }

  Status CheckNode(size_t i) const {
    const PlanNode& node = plan_.nodes[i];
    for (const std::vector<uint32_t>& operand : node.operands) {
      for (uint32_t tensor : operand) {
        if (tensor != kNoTensor && !IsTensor(tensor)) return Broken("a node has no operand", i);
      }
    }
    for (uint32_t output : node.outputs) {
      if (!IsTensor(output)) return Broken("a node has no output", i);
    }
    if (node.op == nullptr) {
      const bool is_copy =
          node.operands.size() == 2 && node.operands[0].size() == 1 && node.operands[1].size() == 1;
      return is_copy ? Status() : Broken("a copy has no source or target", i);
    }
    if (node.kernel == nullptr || node.variant.row == nullptr) {
      return Broken("a call has no kernel", i);
    }
    if (node.operands.size() != node.kernel->operands.size()) {
      return Broken("an operand of a kernel is not bound", i);
    }
    return Status();
  }

  Status CheckResults() const {
    std::set<uint32_t> roots;
    for (uint32_t tensor : plan_.outputs) {
      if (!IsTensor(tensor)) return Broken("an output is not a tensor", tensor);
      if (plan_.tensors[tensor].storage() != Storage::kBuffer) {
        return Broken("an output is not in a buffer", tensor);
      }
      if (!roots.insert(plan_.Root(tensor)).second) return Broken("outputs share memory", tensor);
    }
    for (uint32_t tensor : plan_.states) {
      if (!IsTensor(tensor) || plan_.Root(tensor) != tensor) {
        return Broken("a state is not a root", tensor);
      }
      if (plan_.tensors[tensor].storage() != Storage::kBuffer) {
        return Broken("a state is not in a buffer", tensor);
      }
      if (!roots.insert(tensor).second) return Broken("a state shares memory", tensor);
    }
    return Status();
  }

  // Checks that the root of each operand is written before the node, or by the node.
  Status CheckReads() const {
    std::vector<bool> written(plan_.tensors.size());
    for (uint32_t i = 0; i < plan_.tensors.size(); ++i) {
      const PlanTensor& tensor = plan_.tensors[i];
      written[i] = tensor.constant >= 0 || tensor.input >= 0 || tensor.state >= 0;
    }
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlanNode& node = plan_.nodes[i];
      const std::vector<uint32_t>& outputs = node.op == nullptr ? node.operands[1] : node.outputs;
      for (uint32_t output : outputs) written[plan_.Root(output)] = true;
      for (const std::vector<uint32_t>& operand : node.operands) {
        for (uint32_t tensor : operand) {
          if (tensor == kNoTensor || plan_.tensors[tensor].size == 0) continue;
          if (!written[plan_.Root(tensor)]) return Broken("a node reads unwritten data", i);
        }
      }
    }
    for (uint32_t output : plan_.outputs) {
      if (plan_.tensors[output].size > 0 && !written[plan_.Root(output)]) {
        return Broken("an output is not computed", output);
      }
    }
    return Status();
  }

  const Plan& plan_;
  const DeviceTraits& device_;
};

}  // namespace

Status VerifyPlan(const Plan& plan, const DeviceTraits& device) {
  return Verifier(plan, device).Run();
}

}  // namespace spirloom::graph
