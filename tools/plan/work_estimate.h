// Estimates the arithmetic operations of a call.
#ifndef SPIRLOOM_TOOLS_PLAN_WORK_ESTIMATE_H_
#define SPIRLOOM_TOOLS_PLAN_WORK_ESTIMATE_H_

#include "runtime/graph/plan/plan.h"

namespace spirloom::tools {

// Returns the operations of a node of the plan, two per multiply-add: exact for GEMM, convolutions
// and attention with their usual formulas; all other operators count one per element of their
// largest operand. A kernel may execute fewer (Winograd) or more (padding).
double OperationsOf(const graph::Plan& plan, const graph::PlanNode& node);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_PLAN_WORK_ESTIMATE_H_
