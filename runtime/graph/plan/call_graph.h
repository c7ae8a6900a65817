// A graph with a single call, for kernel tuning.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_GRAPH_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_GRAPH_H_

#include <cstddef>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/plan.h"

namespace spirloom::graph {

// A graph and the bytes of its constants.
struct CallGraph {
  std::vector<std::byte> zeros;
  Graph graph;
};

// Name of the node of a call graph. Tensors have no name, so profiles distinguish the call from
// copies of inputs and outputs.
inline constexpr const char* kCallName = "call";

// Returns a graph with the call of `node` as its only node, in the same storage. Constants of the
// plan become zero constants; other tensors become inputs.
CallGraph MakeCallGraph(const Plan& plan, const PlanNode& node);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_GRAPH_H_
