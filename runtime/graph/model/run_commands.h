// The recorded dispatches of a run, in one command buffer per submission.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_RUN_COMMANDS_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_RUN_COMMANDS_H_

#include "runtime/graph/model/execution_context.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Records the dispatches of `recording`, whose tensors and descriptors exist, in segments that are
// expected to take at most RuntimeOptions::max_submission_ns. On failure, `recording` keeps its
// previous commands.
Status RecordCommands(const ExecutionContext& context, RecordedGraph& recording);

// Call it before each run, while the context is idle. Replaces expected times by the times that the
// segments of the previous run took. Records the commands again if a segment took clearly longer
// than allowed, or if the run has more segments than required; a few times at most, so that a
// steady run records nothing. Errors are ignored: the commands remain valid.
void CorrectCommands(ExecutionContext& context);

// Adds the nodes that had not finished to the error of a lost device: those of the first unfinished
// submission, or of a short run, which is not divided, all of them and how to divide it. Returns
// other statuses unchanged.
Status WithProgress(const ExecutionContext& context, Status status);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_RUN_COMMANDS_H_
