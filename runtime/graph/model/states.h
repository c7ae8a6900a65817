// Host access to the states of a model.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_STATES_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_STATES_H_

#include <cstddef>
#include <span>

#include "runtime/graph/model/model_state.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Implement Model::ResetStates(), ReadState() and WriteState().
Status ResetStates(const ModelState& state);
Status ReadState(const ModelState& state, size_t i, std::span<std::byte> bytes);
Status ReadState(const ModelState& state, size_t i, size_t offset, std::span<std::byte> bytes);
Status WriteState(const ModelState& state, size_t i, std::span<const std::byte> bytes);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_STATES_H_
