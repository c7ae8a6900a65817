#include "integrations/executorch/backend/events.h"

#include <executorch/runtime/platform/platform.h>

#include <charconv>
#include <string_view>

#include "integrations/executorch/lower/binder.h"

namespace spirloom::delegate {
namespace {

using ::executorch::runtime::DelegateDebugIntId;

constexpr DelegateDebugIntId kNoId = ::executorch::runtime::kUnsetDelegateDebugIntId;

DelegateDebugIntId DebugIdOf(std::string_view node) {
  const size_t mark = node.rfind(kIdMark);
  if (mark == std::string_view::npos) return kNoId;
  node.remove_prefix(mark + kIdMark.size());
  DelegateDebugIntId id = kNoId;
  const auto [end, error] = std::from_chars(node.data(), node.data() + node.size(), id);
  return error == std::errc() && end == node.data() + node.size() ? id : kNoId;
}

et_timestamp_t TicksOf(uint64_t nanoseconds) {
  const et_tick_ratio_t ratio = et_pal_ticks_to_ns_multiplier();
  return nanoseconds * ratio.denominator / ratio.numerator;
}

}  // namespace

void LogEvents(::executorch::runtime::EventTracer& tracer, et_timestamp_t start,
               std::span<const DispatchProfile> dispatches) {
  for (const DispatchProfile& dispatch : dispatches) {
    const DelegateDebugIntId id = DebugIdOf(dispatch.node);
    // An event has an id or a name, never both.
    const char* name = id == kNoId ? dispatch.node.c_str() : nullptr;
    tracer.log_profiling_delegate(name, id, start + TicksOf(dispatch.start_ns),
                                  start + TicksOf(dispatch.start_ns + dispatch.gpu_ns),
                                  dispatch.variant.data(), dispatch.variant.size());
  }
}

}  // namespace spirloom::delegate
