#include "runtime/graph/constants/constant_pool.h"

#include <vector>

#include "runtime/base/text.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/plan/call_key.h"

namespace spirloom::graph {
namespace {

std::string TypeOf(const PlanTensor& tensor) {
  return Concat(Describe(tensor.desc), Name(tensor.storage()));
}

// Key of the call of a constant node, from the ids of its arguments. An argument of which only the
// type is used may have no producer, hence no id.
std::string KeyOf(const PlanNode& node, const Plan& plan, const std::vector<uint32_t>& ids) {
  std::vector<Arg> args = node.args;
  std::string types;
  for (Arg& arg : args) {
    for (uint32_t& tensor : arg.tensors) {
      types += TypeOf(plan.tensors[tensor]);
      tensor = ids[plan.Root(tensor)];
    }
  }
  return Concat(CallKey(std::string(node.variant.name), args, node.storage), types);
}

}  // namespace

uint32_t ConstantPool::IdOf(const std::string& key) {
  const auto [found, added] = ids_.emplace(key, Id{next_, plans_});
  if (added) ++next_;
  found->second.plan = plans_;
  return found->second.value;
}

void ConstantPool::RemoveExpired() {
  // An id may be part of another key, so it is kept for some plans after its constant is destroyed.
  constexpr uint32_t kKeptPlans = 64;
  std::erase_if(resources_, [](const auto& entry) { return entry.second.expired(); });
  std::erase_if(ids_, [&](const auto& entry) {
    return plans_ - entry.second.plan > kKeptPlans && !resources_.contains(entry.second.value);
  });
}

std::vector<uint32_t> ConstantPool::Identify(const Plan& plan) {
  ++plans_;
  RemoveExpired();
  std::vector<uint32_t> ids(plan.tensors.size(), kNoId);
  for (uint32_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    if (tensor.constant < 0 || tensor.state >= 0) continue;
    ids[i] = IdOf(Concat("file ", tensor.constant, TypeOf(tensor)));
  }
  for (const PlanNode& node : plan.nodes) {
    if (!node.is_constant) continue;
    const std::string key = KeyOf(node, plan, ids);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string type = TypeOf(plan.tensors[node.outputs[i]]);
      ids[plan.Root(node.outputs[i])] = IdOf(Concat(key, i, type));
    }
  }
  return ids;
}

std::shared_ptr<TensorResource> ConstantPool::Find(uint32_t id) const {
  const auto found = resources_.find(id);
  return found == resources_.end() ? nullptr : found->second.lock();
}

}  // namespace spirloom::graph
