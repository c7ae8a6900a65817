// Text of calls, stable across processes: keys of the tuning store.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_TEXT_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_TEXT_H_

#include <deque>
#include <span>
#include <string>
#include <string_view>

#include "runtime/graph/plan/plan.h"
#include "runtime/session/tuning_store.h"

namespace spirloom::graph {

// Describes everything that affects the latency of a call in `storage`, as a line of printable
// ASCII:
//   aten.convolution(f32[1,3,8,8], const f32[4,3,3,3], none, [1,1], 2, 0.5, "x") in buffer
// `const` marks tensors known at load time: they are packed once, not in each run.
std::string CallText(const ops::OpInfo& op, std::span<const Arg> args,
                     const std::deque<PlanTensor>& tensors, Storage storage);

// Returns the name of the kernel that `tuned`, which may be null, has for the call, or "".
std::string_view TunedKernel(const session::TunedKernels* tuned, const ops::OpInfo& op,
                             std::span<const Arg> args, const std::deque<PlanTensor>& tensors,
                             Storage storage);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_TEXT_H_
