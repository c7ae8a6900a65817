// Compiles a graph to a plan for a device, by a list of named passes. Requires no Vulkan: the
// device is a DeviceTraits.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_COMPILE_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_COMPILE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/kernel_choice.h"
#include "runtime/graph/plan/lowering_trace.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/ops/op_index.h"
#include "runtime/session/tuning_store.h"
#include "spirloom/status.h"

namespace spirloom::graph {

struct CompileOptions {
  Storage storage = Storage::kAuto;       // of tensors without a declared storage; kAuto = buffer
  std::vector<std::string> kernels = {};  // preferred kernels
  // Then: the fastest kernel by CallText(), or null.
  std::shared_ptr<const session::TunedKernels> tuned = nullptr;
  uint64_t max_dispatches = UINT64_MAX;  // all nodes together
  // Receives the kernels that are considered for each call; may be null.
  std::vector<CallTrials>* trials = nullptr;
  // Receives what the plan depends on; may be null.
  LoweringTrace* trace = nullptr;
  // Called after each pass, in the order of Passes(); may be null.
  std::function<void(std::string_view pass, const Plan& plan)> after_pass = nullptr;
};

// A pass of Compile().
struct PassInfo {
  std::string_view name;                    // e.g. "elide-concats"
  std::span<const std::string_view> after;  // passes that must precede it
};

// The passes in the order in which Compile() runs them.
std::span<const PassInfo> Passes();

// Compiles `graph` for the device. Fails with
//   kNotFound and all missing operators and variants, with the selectors that add them;
//   kUnsupported if no kernel supports a call, or the device does not support it;
//   kInvalidFile and the node if arguments do not match the schema of the operator, or the declared
//   shape or dtype of an output differs from the computed one.
// The plan holds references to `index`. Builds with assertions verify the plan after each pass
// (verify_plan.h) and abort if it is inconsistent.
Result<Plan> Compile(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
                     const CompileOptions& options);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_COMPILE_H_
