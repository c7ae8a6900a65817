#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_DEAD_NODES_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_DEAD_NODES_H_

#include "runtime/graph/plan/plan.h"

namespace spirloom::graph {

// Dead-code elimination: removes nodes that no output or state depends on.
void RemoveDeadNodes(Plan& plan);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_DEAD_NODES_H_
