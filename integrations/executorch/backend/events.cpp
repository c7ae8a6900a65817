#include "integrations/executorch/backend/events.h"

#include <executorch/runtime/platform/platform.h>

namespace spirloom::delegate {
namespace {

// An event has a name or an integer id, never both.
constexpr auto kNoId = ::executorch::runtime::kUnsetDelegateDebugIntId;

et_timestamp_t TicksOf(uint64_t nanoseconds) {
  const et_tick_ratio_t ratio = et_pal_ticks_to_ns_multiplier();
  return nanoseconds * ratio.denominator / ratio.numerator;
}

}  // namespace

void LogEvents(::executorch::runtime::EventTracer& tracer, et_timestamp_t start,
               std::span<const DispatchProfile> dispatches) {
  for (const DispatchProfile& dispatch : dispatches) {
    tracer.log_profiling_delegate(dispatch.node.c_str(), kNoId, start + TicksOf(dispatch.start_ns),
                                  start + TicksOf(dispatch.start_ns + dispatch.gpu_ns),
                                  dispatch.variant.data(), dispatch.variant.size());
  }
}

}  // namespace spirloom::delegate
