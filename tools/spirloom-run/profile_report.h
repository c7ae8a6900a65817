// Formats GPU times and plans as tables and as a Chrome trace.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_PROFILE_REPORT_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_PROFILE_REPORT_H_

#include <span>
#include <string>

#include "spirloom/model.h"

namespace spirloom::run {

// A table of the dispatches, slowest first, a table by operator and variant, and the totals.
std::string ProfileReport(std::span<const DispatchProfile> dispatches, const LoadStats& stats);

// A table of the dispatches in order, and a summary of memory planning.
std::string PlanReport(std::span<const DispatchProfile> dispatches, const LoadStats& stats);

// A Chrome trace ("traceEvents") with an event per dispatch; times in microseconds.
std::string TraceJson(std::span<const DispatchProfile> dispatches, const std::string& device);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_PROFILE_REPORT_H_
