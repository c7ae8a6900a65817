// Estimates the execution time of dispatches before they have run.
#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_DISPATCH_COST_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_DISPATCH_COST_H_

#include <cstdint>

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/record/dispatch.h"

namespace spirloom::graph {

// Returns the estimated time of a dispatch or copy of `plan` in nanoseconds, at least 1: the bytes
// of its tensors divided by an assumed bandwidth, plus the loop iterations of all its invocations
// (PlanNode::loop_iterations) divided by an assumed rate per core. The assumed peaks are those of
// slow devices, so that most estimates are too high.
uint64_t EstimateNanoseconds(const Plan& plan, const Dispatch& dispatch,
                             const DeviceTraits& device);
// As above, for a dispatch that binds `bytes` bytes of tensors and whose invocations have
// `loop_iterations`.
uint64_t EstimateNanoseconds(uint64_t bytes, int64_t loop_iterations, const Dispatch& dispatch,
                             const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_DISPATCH_COST_H_
