// Eliminates the copies of in-place operators and state updates.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_IN_PLACE_UPDATES_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_IN_PLACE_UPDATES_H_

#include "runtime/graph/plan/plan.h"

namespace spirloom::graph {

// Must run after ElideConcats(). Aliases
//   the output of an in-place operator to the updated tensor, if that has no later use;
//   the new value of a state to the state, if the old value is not read after the first write.
// Copies between equal addresses are not dispatched.
void UpdateInPlace(Plan& plan);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_IN_PLACE_UPDATES_H_
