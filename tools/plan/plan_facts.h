// Describes a loaded model as JSON: its dispatches and its tensors with their memory.
#ifndef SPIRLOOM_TOOLS_PLAN_PLAN_FACTS_H_
#define SPIRLOOM_TOOLS_PLAN_PLAN_FACTS_H_

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/plan/kernel_choice.h"
#include "spirloom/model.h"

namespace spirloom::tools {

// A list with an object per dispatch of a run, in order (docs/reference/file-formats.md, Profile).
// `trials` are those of Compile() of the same graph, and `named` the kernels that the user
// requests, for the reasons.
nlohmann::ordered_json DispatchFacts(const Model& model, std::span<const graph::CallTrials> trials,
                                     const std::vector<std::string>& named);

// A list with an object per tensor that a dispatch accesses, or whose memory such a tensor shares.
nlohmann::ordered_json TensorFacts(const Model& model);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_PLAN_PLAN_FACTS_H_
