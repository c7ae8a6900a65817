// Turns a graph into a plan: resolves ops, checks shapes, assigns storages, inserts layout copies
// and weight packing, aliases views, and chooses kernels.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_H_

#include <string>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/ops/op_index.h"
#include "runtime/session/tuning_store.h"
#include "spirloom/status.h"

namespace spirloom::graph {

struct LoweringOptions {
  Storage storage = Storage::kAuto;       // of tensors that do not ask for one; kAuto is buffer
  std::vector<std::string> kernels = {};  // to take wherever they can compute a call
  session::TunedKernels tuned = {};       // else, by CallText(): what was found fastest
  uint64_t max_dispatches = UINT64_MAX;   // of all nodes
};

// Lowers `graph` for the device. Fails with
//   kNotFound, listing every op and variant that `index` lacks and how to add them;
//   kUnsupported for a call that no kernel can compute, or that this device cannot;
//   kInvalidFile, naming the node, when arguments do not fit an op's schema, or when the declared
//   shape or dtype of an output is not what the op computes.
// The plan refers to `index`.
Result<Plan> Lower(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
                   const LoweringOptions& options);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_H_
