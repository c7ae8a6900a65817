// Host-visible memory of inputs and outputs.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_

#include "runtime/graph/model/execution_context.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Sets the HostTensors of `recording`, whose inputs and outputs have memory, and its staging
// buffers unless the access is HostAccess::kDirect. Reuses staging buffers of `context`.
Status MapInterface(ExecutionContext& context, RecordedGraph& recording);

// Allocates inputs and outputs: in host-visible memory for HostAccess::kDirect, else with staging
// buffers. Reuses memory of `context`. Then calls MapInterface().
Status AllocateInterface(ExecutionContext& context, RecordedGraph& recording);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_
