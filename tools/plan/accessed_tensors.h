// The tensors that a dispatch accesses.
#ifndef SPIRLOOM_TOOLS_PLAN_ACCESSED_TENSORS_H_
#define SPIRLOOM_TOOLS_PLAN_ACCESSED_TENSORS_H_

#include <cstdint>
#include <vector>

#include "runtime/graph/plan/plan.h"
#include "runtime/graph/record/dispatch.h"

namespace spirloom::tools {

// Returns the tensors that a dispatch writes (`write`) or reads, as its kernel declares: indices
// into Plan::tensors, each once, in ascending order.
std::vector<uint32_t> AccessedTensors(const graph::Plan& plan, const graph::Dispatch& dispatch,
                                      bool write);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_PLAN_ACCESSED_TENSORS_H_
