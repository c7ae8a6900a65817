// Checks the invariants of a plan between the passes of Compile().
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_VERIFY_PLAN_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_VERIFY_PLAN_H_

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/plan.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Fails with kInternal and the tensor or node unless, after any pass,
//   the size of each tensor matches its shape, and each texture fits the device;
//   aliases are within roots of the same storage;
//   nodes refer to tensors and have a kernel whose operands are all bound, or are buffer copies;
//   each tensor is written before it is read, and belongs to a node that computes it, an input, a
//   constant or a state;
//   outputs and states are in buffers that share no memory.
// Called in builds with assertions and by the fuzzer of plans.
Status VerifyPlan(const Plan& plan, const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_VERIFY_PLAN_H_
