#include "runtime/graph/plan/call_graph.h"

#include <algorithm>
#include <map>
#include <span>

namespace spirloom::graph {
namespace {

Tensor UnnamedTensor(const PlanTensor& source) {
  Tensor tensor;
  tensor.dtype = source.desc.dtype;
  tensor.shape.assign(source.desc.shape.begin(), source.desc.shape.end());
  tensor.size = source.size;
  return tensor;
}

class Builder {
 public:
  explicit Builder(const Plan& plan) : plan_(plan) {}

  CallGraph Build(const PlanNode& source) {
    Node node{source.op->op->name, source.args, {}, kCallName};
    for (Arg& arg : node.args) {
      for (uint32_t& tensor : arg.tensors) tensor = Operand(tensor);
    }
    for (uint32_t output : source.outputs) {
      Tensor tensor = UnnamedTensor(plan_.tensors[output]);
      tensor.storage = source.storage;
      node.outputs.push_back(Add(std::move(tensor)));
    }
    result_.graph.outputs = node.outputs;
    result_.graph.nodes.push_back(std::move(node));
    FillConstants();
    return std::move(result_);
  }

 private:
  uint32_t Add(Tensor tensor) {
    result_.graph.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(result_.graph.tensors.size() - 1);
  }

  uint32_t Operand(uint32_t planned) {
    if (const auto found = operands_.find(planned); found != operands_.end()) return found->second;
    const PlanTensor& source = plan_.tensors[planned];
    Tensor tensor = UnnamedTensor(source);
    if (source.is_constant) tensor.constant = constants_++;
    const uint32_t added = Add(std::move(tensor));
    if (!source.is_constant) result_.graph.inputs.push_back(added);
    operands_[planned] = added;
    return added;
  }

  void FillConstants() {
    uint64_t max_size = 0;
    for (const Tensor& tensor : result_.graph.tensors) {
      if (tensor.constant >= 0) max_size = std::max(max_size, tensor.size);
    }
    // On a 32-bit host, larger sizes fail to allocate.
    result_.zeros.resize(static_cast<size_t>(std::min<uint64_t>(max_size, SIZE_MAX)));
    for (const Tensor& tensor : result_.graph.tensors) {
      if (tensor.constant < 0) continue;
      result_.graph.constants.push_back(
          std::span(result_.zeros).first(static_cast<size_t>(tensor.size)));
    }
  }

  const Plan& plan_;
  CallGraph result_;
  std::map<uint32_t, uint32_t> operands_;  // plan tensor -> tensor of the call graph
  int32_t constants_ = 0;
};

}  // namespace

CallGraph MakeCallGraph(const Plan& plan, const PlanNode& node) {
  return Builder(plan).Build(node);
}

}  // namespace spirloom::graph
