// Runs a recorded graph one dispatch at a time.
#ifndef SPIRLOOM_TOOLS_RACES_SERIAL_RUN_H_
#define SPIRLOOM_TOOLS_RACES_SERIAL_RUN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/model/execution_context.h"
#include "spirloom/status.h"
#include "tools/races/dispatch_order.h"
#include "tools/races/tensor_memory.h"

namespace spirloom::tools {

using InputBytes = std::span<const std::span<const std::byte>>;

// The results of a run.
struct RunTrace {
  Digests written;                              // by dispatch; empty for RunAsRecorded()
  std::vector<std::vector<std::byte>> results;  // outputs, then states
};

// Resets the states and copies the inputs, whose number and sizes must be correct, to the device.
Status PrepareRun(internal::ExecutionContext& context, InputBytes inputs);

// Runs the model as Model::Run() does, with initial states.
Result<RunTrace> RunAsRecorded(internal::ExecutionContext& context, InputBytes inputs);

// Submits the dispatches one by one in `order`, with initial states, and waits for each.
Result<RunTrace> RunSerially(internal::ExecutionContext& context, InputBytes inputs,
                             std::span<const uint32_t> order, Scratch& scratch);

// Runs the first `count` dispatches as Model::Run() does, with the barriers of the runtime. Returns
// the digest of the bytes that the last of them wrote.
Result<uint64_t> RunFirst(internal::ExecutionContext& context, InputBytes inputs, size_t count,
                          Scratch& scratch);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_RACES_SERIAL_RUN_H_
