// Concatenation without copies.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_JOINED_PARTS_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_JOINED_PARTS_H_

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/plan.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Lets tensors that kernels would only copy to a place in another buffer (`joined_at`, aten.cat)
// live there from the start, where nothing else needs them elsewhere and the place is one that
// bindings can begin at. The dispatches that copied them are marked in PlanNode::in_place.
void JoinParts(Plan& plan, const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_JOINED_PARTS_H_
