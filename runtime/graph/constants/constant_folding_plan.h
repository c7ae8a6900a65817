// The dispatches that compute a plan's constants at load time.
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_FOLDING_PLAN_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_FOLDING_PLAN_H_

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "runtime/graph/record/dispatch.h"

namespace spirloom::graph {

struct ConstantFoldingPlan {
  std::set<uint32_t> persistent;            // roots: constants that a run binds
  std::vector<const Dispatch*> dispatches;  // dispatches of constant nodes, in order
};

// `dispatches` are all dispatches of the plan; they must outlive the result.
ConstantFoldingPlan PlanConstantFolding(const Plan& plan, std::span<const Dispatch> dispatches);

// Removes dispatches that `folding.persistent` does not depend on.
void RemoveUnusedDispatches(const Plan& plan, ConstantFoldingPlan& folding);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_FOLDING_PLAN_H_
