// Presents GPU times and plans: tables and the Chrome trace.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_PROFILE_REPORT_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_PROFILE_REPORT_H_

#include <span>
#include <string>

#include "spirloom/model.h"

namespace spirloom::run {

// A table of the dispatches, slowest first, one of the same by op and variant, and the totals.
std::string ProfileReport(std::span<const DispatchProfile> dispatches, const LoadStats& stats);

// The dispatches in order, and what planning did.
std::string PlanReport(std::span<const DispatchProfile> dispatches, const LoadStats& stats);

// A Chrome trace ("traceEvents") with an event for each dispatch; times in microseconds.
std::string TraceJson(std::span<const DispatchProfile> dispatches, const std::string& device);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_PROFILE_REPORT_H_
