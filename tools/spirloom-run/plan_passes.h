// Prints the plan of a graph between the passes that compile it.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_PLAN_PASSES_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_PLAN_PASSES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/plan/plan.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"
#include "spirloom/types.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// The names of the passes, in order.
std::vector<std::string> PassNames();

// The nodes and the tensors of a plan as tables. Tensors have the names %0, %1, …
std::string PlanText(const graph::Plan& plan);

// Compiles the model of `options` for the runtime's device and returns PlanText() after the pass
// `options.plan_pass`. `shapes`: of the inputs, if the model has dynamic shapes. `ints`: of the
// integer inputs. Fails like Model::Load().
Result<std::string> PlanAfterPass(const Runtime& runtime, const Options& options,
                                  std::span<const Shape> shapes, std::span<const int64_t> ints);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_PLAN_PASSES_H_
