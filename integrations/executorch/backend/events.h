// Dispatch times of a delegate's run for ExecuTorch's event tracer.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_EVENTS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_EVENTS_H_

#include <executorch/runtime/core/event_tracer.h>

#include <span>

#include "spirloom/model.h"

namespace spirloom::delegate {

// Logs one event per dispatch of a run that started at `start` (ExecuTorch's clock), with GPU
// times. An event has the name of its graph node: "<operator> #<delegate debug id>" for a program
// of VulkanPartitioner; for one of SpirloomPartitioner, the exporter's debug_handle_map maps it to
// ExecuTorch's handles. The metadata is the name of the kernel variant.
void LogEvents(::executorch::runtime::EventTracer& tracer, et_timestamp_t start,
               std::span<const DispatchProfile> dispatches);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_EVENTS_H_
