// Views that need no kernel.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_VIEW_LOWERING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_VIEW_LOWERING_H_

#include "runtime/graph/plan/call_lowering.h"

namespace spirloom::graph {

// Makes the output of `call`, of an op that is a view, which is asked for in `requested`, an alias
// of its source, or of a copy of the source in a buffer where no kernel computes the view. A view
// of a part is an alias where both are buffers and the part begins where bindings can. Returns
// false when a kernel should compute it.
Result<bool> LowerView(CallLowering& calls, OpCall& call, Storage requested,
                       const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_VIEW_LOWERING_H_
