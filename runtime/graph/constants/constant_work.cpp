#include "runtime/graph/constants/constant_work.h"

#include <algorithm>

namespace spirloom::graph {

ConstantWork FindConstantWork(const Plan& plan, std::span<const Dispatch> dispatches) {
  ConstantWork work;
  work.persistent.insert(plan.states.begin(), plan.states.end());
  for (const Dispatch& dispatch : dispatches) {
    if (plan.nodes[dispatch.node].is_constant) {
      work.dispatches.push_back(&dispatch);
      continue;
    }
    for (uint32_t tensor : dispatch.tensors) {
      if (tensor == kNoTensor || !plan.tensors[plan.Root(tensor)].is_constant) continue;
      work.persistent.insert(plan.Root(tensor));
    }
  }
  return work;
}

void DropNeedless(const Plan& plan, ConstantWork& work) {
  std::set<uint32_t> needed = work.persistent;
  std::vector<const Dispatch*> kept;
  for (auto at = work.dispatches.rbegin(); at != work.dispatches.rend(); ++at) {
    const std::vector<uint32_t>& outputs = plan.nodes[(*at)->node].outputs;
    const auto is_needed = [&](uint32_t output) { return needed.contains(plan.Root(output)); };
    if (std::ranges::none_of(outputs, is_needed)) continue;
    for (uint32_t tensor : (*at)->tensors) {
      if (tensor != kNoTensor) needed.insert(plan.Root(tensor));
    }
    kept.push_back(*at);
  }
  work.dispatches.assign(kept.rbegin(), kept.rend());
}

}  // namespace spirloom::graph
