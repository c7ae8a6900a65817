// The application's buffers and semaphores in runs of a model.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_EXTERNAL_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_EXTERNAL_H_

#include <cstddef>
#include <span>

#include "runtime/graph/model/execution_context.h"
#include "spirloom/status.h"
#include "spirloom/vulkan.h"

namespace spirloom::internal {

enum class Side : uint8_t { kInputs, kOutputs };

// Implement Model::BindInput() and BindOutput().
Status BindBuffer(ExecutionContext& context, Side side, size_t i, const ExternalBuffer& buffer);
Status BindMemory(ExecutionContext& context, Side side, size_t i, std::span<std::byte> memory);

// Implements Model::Submit() with semaphores.
Status SubmitRun(ExecutionContext& context, const SubmitOptions& options);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_EXTERNAL_H_
