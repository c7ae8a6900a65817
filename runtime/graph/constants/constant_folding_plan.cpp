#include "runtime/graph/constants/constant_folding_plan.h"

#include <algorithm>

namespace spirloom::graph {

ConstantFoldingPlan PlanConstantFolding(const Plan& plan, std::span<const Dispatch> dispatches) {
  ConstantFoldingPlan folding;
  for (const Dispatch& dispatch : dispatches) {
    if (plan.nodes[dispatch.node].is_constant) {
      folding.dispatches.push_back(&dispatch);
      continue;
    }
    for (uint32_t tensor : dispatch.tensors) {
      if (tensor == kNoTensor || !plan.tensors[plan.Root(tensor)].is_constant) continue;
      folding.persistent.insert(plan.Root(tensor));
    }
  }
  return folding;
}

void RemoveUnusedDispatches(const Plan& plan, ConstantFoldingPlan& folding) {
  std::set<uint32_t> needed = folding.persistent;
  std::vector<const Dispatch*> kept;
  for (auto it = folding.dispatches.rbegin(); it != folding.dispatches.rend(); ++it) {
    const std::vector<uint32_t>& outputs = plan.nodes[(*it)->node].outputs;
    const auto is_needed = [&](uint32_t output) { return needed.contains(plan.Root(output)); };
    if (std::ranges::none_of(outputs, is_needed)) continue;
    for (uint32_t tensor : (*it)->tensors) {
      if (tensor != kNoTensor) needed.insert(plan.Root(tensor));
    }
    kept.push_back(*it);
  }
  folding.dispatches.assign(kept.rbegin(), kept.rend());
}

}  // namespace spirloom::graph
