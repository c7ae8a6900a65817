// The device's copies between a model's tensors and what the host passes them in.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_COPIES_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_COPIES_H_

#include "runtime/graph/model/model_state.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Records anew, if the bindings have changed since, the copies before and after the dispatches of
// the current recording: between tensors and staging buffers or what they are bound to. Fails with
// kInvalidArgument for a binding that is smaller than its tensor.
Status UpdateCopies(ModelState& state);
// The same for a recording in the making; while anything is bound, that is left to the next run.
Status MakeCopies(ModelState& state, Recording& recording);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_COPIES_H_
