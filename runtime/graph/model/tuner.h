// Kernel tuning: measures the kernels of the calls of a graph.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_TUNER_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_TUNER_H_

#include <memory>

#include "runtime/graph/file/graph.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Target of ModelOptions::tune. A pointer, so that only programs that tune link the tuner.
struct Tuner {
  Status (*tune)(const std::shared_ptr<RuntimeState>& runtime, const graph::Graph& graph,
                 const ModelOptions& options);
};

// Measures every distinct nonconstant call of `graph` that several kernels support and whose result
// the tuning store of the runtime lacks (ModelOptions::retune: all), and adds the fastest kernels
// to the store. The symbols of `graph` must have values. Skips calls whose kernel `options` names,
// and kernels that exceed the device memory. Fails with kUnsupported if the device has no
// timestamps, with kDeviceLost, and as graph::Compile() does.
Status TuneKernels(const std::shared_ptr<RuntimeState>& runtime, const graph::Graph& graph,
                   const ModelOptions& options);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_TUNER_H_
