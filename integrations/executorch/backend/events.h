// What a delegate's run took, for ExecuTorch's event tracer.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_EVENTS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_EVENTS_H_

#include <executorch/runtime/core/event_tracer.h>

#include <span>

#include "spirloom/model.h"

namespace spirloom::delegate {

// Logs a row for each dispatch of a run that began at `start`, by ExecuTorch's clock, with the
// device's times. A row has the id of the call that the dispatch computes (the delegate debug id)
// or, where a program has none, as for a copy of an input and in graphs of our own partitioner, the
// name of the graph's node, for which the exporter's debug_handle_map has ExecuTorch's handles; its
// metadata is the kernel's name.
void LogEvents(::executorch::runtime::EventTracer& tracer, et_timestamp_t start,
               std::span<const DispatchProfile> dispatches);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_EVENTS_H_
