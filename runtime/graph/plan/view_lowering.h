// Lowers views to aliases.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_VIEW_LOWERING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_VIEW_LOWERING_H_

#include "runtime/graph/plan/call_lowering.h"

namespace spirloom::graph {

// Makes the output of `call`, a view with the requested storage `requested`, an alias of its
// source, or of a buffer copy of the source if no kernel computes the view. A view of a part is an
// alias if both are buffers and the offset is aligned for descriptors. Returns false if a kernel
// should compute it.
Result<bool> LowerView(CallLowering& calls, OpCall& call, Storage requested,
                       const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_VIEW_LOWERING_H_
