// Host-visible memory of inputs and outputs.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_

#include "runtime/graph/model/execution_context.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Allocates inputs and outputs: in host-visible memory for HostAccess::kDirect, else with staging
// buffers. Reuses memory of `context`. Sets the HostTensors of `recording`.
Status AllocateInterface(ExecutionContext& context, RecordedGraph& recording);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_
