// States, and tensors that operators update, changed where they are.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_PLACED_UPDATES_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_PLACED_UPDATES_H_

#include <cstdint>

#include "runtime/graph/plan/plan.h"

namespace spirloom::graph {

// Makes `part`, a temporary with memory of its own, and what lives in it, live in `root` from the
// byte `offset` on.
void Move(Plan& plan, uint32_t part, uint32_t root, uint64_t offset);

// Once tensors that are joined live where they will, lets tensors that begin as copies of others
// (what an op updates) live where those are, if nothing reads or writes there any more; and updates
// that are copied to their state at the end of a run live in the state, if nothing reads its old
// value any more when they are first written. A copy that then has nothing to do is not dispatched.
void PlaceUpdates(Plan& plan);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_PLACED_UPDATES_H_
