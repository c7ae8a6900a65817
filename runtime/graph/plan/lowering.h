// Lowers a graph to a plan: resolves operators, checks shapes, selects storages and kernels,
// inserts layout copies and weight packing, and aliases views.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/kernel_choice.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/ops/op_index.h"
#include "runtime/session/tuning_store.h"
#include "spirloom/status.h"

namespace spirloom::graph {

struct LoweringOptions {
  Storage storage = Storage::kAuto;       // of tensors without a declared storage; kAuto = buffer
  std::vector<std::string> kernels = {};  // preferred kernels
  // Then: the fastest kernel by CallText(), or null.
  std::shared_ptr<const session::TunedKernels> tuned = nullptr;
  uint64_t max_dispatches = UINT64_MAX;  // all nodes together
  // Receives the kernels that are considered for each call; may be null.
  std::vector<CallTrials>* trials = nullptr;
};

// Lowers `graph` for the device. Fails with
//   kNotFound and all missing operators and variants, with the selectors that add them;
//   kUnsupported if no kernel supports a call, or the device does not support it;
//   kInvalidFile and the node if arguments do not match the schema of the operator, or the declared
//   shape or dtype of an output differs from the computed one.
// The plan holds references to `index`.
Result<Plan> Lower(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
                   const LoweringOptions& options);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_H_
