// Eliminates the copies of concatenations.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CONCAT_ELISION_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CONCAT_ELISION_H_

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/plan.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Aliases the parts of a concatenation (`concat_offset`, aten.cat) to the output, so that their
// producers write to it directly. Requires a temporary part and an offset aligned for descriptors.
// The dispatches that copied the parts are marked in PlanNode::in_place.
void ElideConcats(Plan& plan, const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CONCAT_ELISION_H_
