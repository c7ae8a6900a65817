// What it takes to prepare a plan's constants.
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_WORK_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_WORK_H_

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "runtime/graph/record/dispatch.h"

namespace spirloom::graph {

struct ConstantWork {
  std::set<uint32_t> persistent;            // the constants, as roots, that a run binds; all states
  std::vector<const Dispatch*> dispatches;  // those of constant nodes, in order
};

// All the work for `dispatches`, which are all of the plan's and must outlive the result.
ConstantWork FindConstantWork(const Plan& plan, std::span<const Dispatch> dispatches);

// Leaves the dispatches that `work.persistent` comes from.
void DropNeedless(const Plan& plan, ConstantWork& work);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_WORK_H_
