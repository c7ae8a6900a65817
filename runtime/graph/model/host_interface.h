// Host-visible memory of inputs and outputs.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_

#include "runtime/graph/model/model_state.h"
#include "runtime/graph/plan/plan.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Allocates inputs and outputs: in host-visible memory for HostAccess::kDirect, else with staging
// buffers. Reuses memory of `state`. Sets the HostTensors of `recording`.
Status AllocateInterface(const graph::Plan& plan, ModelState& state, Recording& recording);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_
