// Runs the stages of loading a graph that require no device, and checks the postconditions of each.
#ifndef SPIRLOOM_TESTS_FUZZ_PLAN_STAGES_H_
#define SPIRLOOM_TESTS_FUZZ_PLAN_STAGES_H_

#include <cstdint>
#include <span>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/ops/op_index.h"
#include "tests/fuzz/device_bytes.h"

namespace spirloom::fuzz {

// Compiles the graph, verifies the plan after each pass, builds dispatches, plans memory and tracks
// barriers. Aborts if a stage violates a postcondition. Returns whether every stage accepted the
// graph. `well_formed_ops`: `index` was written by the generator, so kernels write their complete
// outputs.
bool RunStages(const graph::Graph& graph, const ops::OpIndex& index, const FuzzedDevice& device,
               bool well_formed_ops);

// Compiles `graph` for its maximum sizes and specializes the plan for symbols[i] of symbol i.
// Aborts if the result differs from the plan and the dispatches that compiling `special`, the graph
// of those sizes, returns. Returns whether the plan could be specialized.
bool CheckSpecialization(const graph::Graph& graph, const graph::Graph& special,
                         std::span<const int64_t> symbols, const ops::OpIndex& index,
                         const FuzzedDevice& device);

// The checks of RunStages() on the dispatches of a plan.
void CheckDispatches(const graph::Plan& plan, const graph::DispatchList& list,
                     const graph::DeviceTraits& device);
// Checks that the host or an earlier dispatch has written all bytes that a dispatch reads.
void CheckReadsFollowWrites(const graph::Plan& plan, const graph::DispatchList& list);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_PLAN_STAGES_H_
