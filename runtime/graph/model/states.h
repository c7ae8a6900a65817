// Allocation of the states of a context, and host access to them.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_STATES_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_STATES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/graph/model/execution_context.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Allocates the states of a new recorded graph in its store: adopts those that the memory of
// `context` contains, and allocates the others with their initial values. Returns the bytes of the
// latter. On failure, the memory of `context` is unchanged.
Result<uint64_t> AllocateStates(ExecutionContext& context, RecordedGraph& recording);

// Implement Model::ResetStates(), ReadState() and WriteState().
Status ResetStates(const ExecutionContext& context);
Status ReadState(const ExecutionContext& context, size_t i, std::span<std::byte> bytes);
Status ReadState(const ExecutionContext& context, size_t i, size_t offset,
                 std::span<std::byte> bytes);
Status WriteState(const ExecutionContext& context, size_t i, std::span<const std::byte> bytes);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_STATES_H_
