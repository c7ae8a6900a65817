#include "runtime/graph/plan/dead_nodes.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace spirloom::graph {
namespace {

const std::vector<uint32_t>& OutputsOf(const PlanNode& node) {
  return node.op == nullptr ? node.operands[1] : node.outputs;
}

}  // namespace

void RemoveDeadNodes(Plan& plan) {
  std::vector<bool> needed(plan.tensors.size(), false);
  for (uint32_t output : plan.outputs) needed[plan.Root(output)] = true;
  for (uint32_t state : plan.states) needed[state] = true;
  const auto is_needed = [&](uint32_t tensor) { return needed[plan.Root(tensor)]; };
  std::vector<PlanNode> kept;
  for (auto node = plan.nodes.rbegin(); node != plan.nodes.rend(); ++node) {
    if (std::ranges::none_of(OutputsOf(*node), is_needed)) continue;
    for (const std::vector<uint32_t>& tensors : node->operands) {
      for (uint32_t tensor : tensors) {
        if (tensor != kNoTensor) needed[plan.Root(tensor)] = true;
      }
    }
    kept.push_back(std::move(*node));
  }
  std::ranges::reverse(kept);
  plan.nodes = std::move(kept);
}
}  // namespace spirloom::graph
