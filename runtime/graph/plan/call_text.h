// Calls in words that mean the same in every process.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_TEXT_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_TEXT_H_

#include <deque>
#include <span>
#include <string>

#include "runtime/graph/plan/plan.h"

namespace spirloom::graph {

// All that the time of a call computed in `storage` depends on, in one line of printable ASCII:
//   aten.convolution(f32[1,3,8,8], const f32[4,3,3,3], none, [1,1], 2, 0.5, "x") in buffer
// `const` marks what is known at load, so that packing it costs no run anything.
std::string CallText(const ops::OpInfo& op, std::span<const Arg> args,
                     const std::deque<PlanTensor>& tensors, Storage storage);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_TEXT_H_
