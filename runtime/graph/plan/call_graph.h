// A call by itself, to measure it.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_GRAPH_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_GRAPH_H_

#include <cstddef>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/plan.h"

namespace spirloom::graph {

// A graph and the bytes that its constants refer to.
struct CallGraph {
  std::vector<std::byte> zeros;
  Graph graph;
};

// The name of a call graph's node. Its tensors have none, which tells copies of inputs and outputs
// from what belongs to the call.
inline constexpr const char* kCallName = "call";

// The graph whose only node is the call that `node` of `plan` computes, in the node's storage. What
// is constant in the plan is a constant, zero; other tensors are inputs.
CallGraph MakeCallGraph(const Plan& plan, const PlanNode& node);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_GRAPH_H_
