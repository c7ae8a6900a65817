#include "runtime/graph/constants/constant_pool.h"

#include <vector>

#include "runtime/base/text.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/plan/call_key.h"

namespace spirloom::graph {
namespace {

std::string TypeOf(const PlanTensor& tensor) {
  return Concat({Describe(tensor.desc), Name(tensor.storage())});
}

// Identifies the call of a constant node by what its arguments hold. An argument of which only the
// type counts may have no producer any more, and so no number.
std::string KeyOf(const PlanNode& node, const Plan& plan, const std::vector<uint32_t>& numbers) {
  std::vector<Arg> args = node.args;
  std::string types;
  for (Arg& arg : args) {
    for (uint32_t& tensor : arg.tensors) {
      types += TypeOf(plan.tensors[tensor]);
      tensor = numbers[plan.Root(tensor)];
    }
  }
  return Concat({CallKey(std::string(node.variant.name), args, node.storage), types});
}

}  // namespace

uint32_t ConstantPool::NumberOf(const std::string& key) {
  const auto [found, added] = numbers_.emplace(key, Number{next_, plans_});
  if (added) ++next_;
  found->second.plan = plans_;
  return found->second.value;
}

void ConstantPool::Forget() {
  // A number may be part of another one's key, so that it outlives its constant for a while.
  constexpr uint32_t kPlans = 64;
  std::erase_if(resources_, [](const auto& known) { return known.second.expired(); });
  std::erase_if(numbers_, [&](const auto& known) {
    return plans_ - known.second.plan > kPlans && !resources_.contains(known.second.value);
  });
}

std::vector<uint32_t> ConstantPool::Identify(const Plan& plan, uint64_t state_set) {
  ++plans_;
  Forget();
  std::vector<uint32_t> numbers(plan.tensors.size(), kNoNumber);
  for (uint32_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    if (tensor.constant < 0 && tensor.state < 0) continue;
    const bool is_state = tensor.state >= 0;
    numbers[i] = NumberOf(is_state ? Concat({"state ", state_set, " ", TypeOf(tensor), tensor.name})
                                   : Concat({"file ", tensor.constant, TypeOf(tensor)}));
  }
  for (const PlanNode& node : plan.nodes) {
    if (!node.is_constant) continue;
    const std::string key = KeyOf(node, plan, numbers);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string type = TypeOf(plan.tensors[node.outputs[i]]);
      numbers[plan.Root(node.outputs[i])] = NumberOf(Concat({key, i, type}));
    }
  }
  return numbers;
}

std::shared_ptr<TensorResource> ConstantPool::Find(uint32_t number) const {
  const auto found = resources_.find(number);
  return found == resources_.end() ? nullptr : found->second.lock();
}

}  // namespace spirloom::graph
