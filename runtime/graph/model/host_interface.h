// The memory through which the host passes inputs and takes outputs.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_

#include "runtime/graph/model/model_state.h"
#include "runtime/graph/plan/plan.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Gives the plan's inputs and outputs memory that the host maps: their own where `access` is
// kDirect, else staging buffers beside it; in what `state` has of it where that suffices. Fills the
// host's side of `recording`.
Status AllocateInterface(const graph::Plan& plan, ModelState& state, Recording& recording);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_INTERFACE_H_
