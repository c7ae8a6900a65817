// Device copies between the inputs and outputs of a model and staging or bound buffers.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_COPIES_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_COPIES_H_

#include "runtime/graph/model/execution_context.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Re-records the copies before and after the dispatches of the current recording if bindings have
// changed. Fails with kInvalidArgument if a binding is smaller than its tensor.
Status UpdateCopies(ExecutionContext& context);
// Records the copies of a new recording. With bindings, the next run does it.
Status MakeCopies(ExecutionContext& context, RecordedGraph& recording);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_HOST_COPIES_H_
