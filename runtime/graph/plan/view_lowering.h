// Views that need no kernel.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_VIEW_LOWERING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_VIEW_LOWERING_H_

#include <vector>

#include "runtime/graph/plan/call_lowering.h"

namespace spirloom::graph {

// Makes the view `output`, which is asked for in `requested`, an alias of its source, or of a copy
// of the source in a buffer where no kernel computes the view. A view of a part is an alias where
// both are buffers and the part begins where bindings can. Returns false when a kernel should
// compute it.
Result<bool> LowerView(CallLowering& calls, const ops::OpEntry& op, const std::vector<Arg>& args,
                       uint32_t output, Storage requested, const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_VIEW_LOWERING_H_
