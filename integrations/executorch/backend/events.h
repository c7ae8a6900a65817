// What a delegate's run took, for ExecuTorch's event tracer.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_EVENTS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_EVENTS_H_

#include <executorch/runtime/core/event_tracer.h>

#include <span>

#include "spirloom/model.h"

namespace spirloom::delegate {

// Logs a row for each dispatch of a run that began at `start`, by ExecuTorch's clock, with the
// device's times. A row has the id of the call that the dispatch computes (the delegate debug id)
// or, where it belongs to none, as a copy of an input does, a name; its metadata is the kernel's
// name.
void LogEvents(::executorch::runtime::EventTracer& tracer, et_timestamp_t start,
               std::span<const DispatchProfile> dispatches);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_EVENTS_H_
