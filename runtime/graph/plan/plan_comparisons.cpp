// The conditions under which a plan is also that of other sizes.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/plan/call_key.h"
#include "runtime/graph/plan/concat_elision.h"
#include "runtime/graph/plan/in_place_updates.h"
#include "runtime/graph/plan/plan_evaluation.h"

namespace spirloom::graph {

bool PlanSpecializer::Evaluation::CompareTensors() const {
  for (size_t i = 0; i < values_.tensors.size(); ++i) {
    const TensorValues& before = from_.tensors_[i];
    const TensorValues& now = values_.tensors[i];
    if ((before.size == 0) != (now.size == 0)) return false;
    if (from_.is_constant_[i] && before.shape != now.shape) return false;
    if (before.size < now.size && (now.buffer_size() > from_.device_.max_storage_buffer_range ||
                                   !std::in_range<size_t>(now.size))) {
      return false;
    }
  }
  return true;
}

bool PlanSpecializer::Evaluation::ComparePairs() const {
  const auto are_equal = [&](const auto& pairs, const auto member) {
    return std::ranges::all_of(pairs, [&](const LoweringTrace::TensorPair& pair) {
      return values_.tensors[pair.first].*member == values_.tensors[pair.second].*member;
    });
  };
  const LoweringTrace& trace = from_.trace_;
  return are_equal(trace.equal_shapes, &TensorValues::shape) &&
         are_equal(trace.equal_sizes, &TensorValues::size) &&
         std::ranges::all_of(trace.unequal_sizes, [&](const LoweringTrace::TensorPair& pair) {
           return values_.tensors[pair.first].size != values_.tensors[pair.second].size;
         });
}

bool PlanSpecializer::Evaluation::ComparePacks() const {
  if (!packs_changed_) return true;
  std::map<std::string, uint32_t> tensors;
  std::vector<std::string> keys(values_.tensors.size());  // by packed tensor
  for (size_t i = 0; i < from_.trace_.calls.size(); ++i) {
    const TracedCall& call = from_.trace_.calls[i];
    std::vector<uint32_t> own;
    for (const Arg& arg : call.args) {
      own.insert(own.end(), arg.tensors.begin(), arg.tensors.end());
    }
    for (size_t k = 0; k < call.packs.size(); ++k) {
      const TracedPack& pack = call.packs[k];
      std::vector<Arg> args = values_.calls[i] == nullptr ? pack.args : values_.calls[i]->packs[k];
      for (Arg& arg : args) {
        for (uint32_t& tensor : arg.tensors) tensor = own[tensor];
      }
      std::string key = CallKey(call.node->kernel->operands[pack.operand].pack_op, args,
                                from_.plan_.tensors[pack.packed].storage());
      if (tensors.try_emplace(key, pack.packed).first->second != pack.packed) return false;
      std::string& known = keys[pack.packed];
      if (known.empty()) known = key;
      if (known != key) return false;
    }
  }
  return true;
}

bool PlanSpecializer::Evaluation::AliasBuffers() {
  if (!from_.trace_.before_aliasing) return true;
  Plan plan = *from_.trace_.before_aliasing;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    plan.tensors[i].size = values_.tensors[i].size;
    plan.tensors[i].alias_offset = values_.tensors[i].alias_offset;
  }
  for (PlanNode& node : plan.nodes) {
    const CallValues* found = node.call == kNoCall ? nullptr : values_.calls[node.call];
    for (size_t i = 0; found != nullptr && i < node.dispatches.size(); ++i) {
      node.dispatches[i].concat_offset = found->dispatches[i].concat_offset;
    }
  }
  ElideConcats(plan, from_.device_);
  UpdateInPlace(plan);
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i].alias_of != from_.plan_.tensors[i].alias_of) return false;
    values_.tensors[i].alias_offset = plan.tensors[i].alias_offset;
  }
  return std::ranges::equal(plan.nodes, from_.plan_.nodes, {}, &PlanNode::in_place,
                            &PlanNode::in_place);
}

bool PlanSpecializer::Evaluation::CompareCopies() const {
  for (const PlanNode& node : from_.plan_.nodes) {
    if (node.op != nullptr) continue;
    const uint32_t source = node.operands[0][0];
    const uint32_t target = node.operands[1][0];
    const bool have_same_address =
        from_.plan_.Root(source) == from_.plan_.Root(target) &&
        values_.tensors[source].alias_offset == values_.tensors[target].alias_offset;
    if (have_same_address != from_.plan_.HaveSameAddress(source, target)) return false;
  }
  return true;
}

}  // namespace spirloom::graph
