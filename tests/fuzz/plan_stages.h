// Takes a graph the way that a load takes it, as far as that goes without a device, and checks what
// each stage promises to the next.
#ifndef SPIRLOOM_TESTS_FUZZ_PLAN_STAGES_H_
#define SPIRLOOM_TESTS_FUZZ_PLAN_STAGES_H_

#include <cstdint>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/ops/op_index.h"
#include "tests/fuzz/device_bytes.h"

namespace spirloom::fuzz {

// Lowers the graph, joins parts, builds dispatches, plans memory and places barriers. Ends the
// process when a stage breaks a promise. Returns whether every stage accepted the graph.
// `well_formed_ops` says that `index` is what the generator wrote: kernels then compute the whole
// of what they are to compute.
bool RunStages(const graph::Graph& graph, const ops::OpIndex& index, const FuzzedDevice& device,
               bool well_formed_ops);

// What RunStages() checks of a plan and its dispatches.
void CheckPlan(const graph::Plan& plan, const graph::DeviceTraits& device);
void CheckDispatches(const graph::Plan& plan, const graph::DispatchList& list,
                     const graph::DeviceTraits& device);
// That nothing is read which neither the host nor an earlier dispatch has written.
void CheckReadsFollowWrites(const graph::Plan& plan, const graph::DispatchList& list);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_PLAN_STAGES_H_
