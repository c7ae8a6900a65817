// Measures which kernels compute a graph's calls fastest.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_TUNER_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_TUNER_H_

#include <memory>

#include "runtime/graph/file/graph.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// What ModelOptions::tune points to: a pointer, so that only programs that tune link it.
struct Tuner {
  Status (*tune)(const std::shared_ptr<RuntimeState>& runtime, const graph::Graph& graph,
                 const ModelOptions& options);
};

// Measures every distinct call of `graph`, which has no symbols left, that depends on the inputs
// and that several kernels can compute, and adds what it finds to the runtime's tuning. Calls whose
// kernel `options` names are left alone. A kernel that does not fit the device's memory is out of
// the running. Fails with kUnsupported on a device without timestamps, kDeviceLost, and as
// graph::Lower().
Status TuneKernels(const std::shared_ptr<RuntimeState>& runtime, const graph::Graph& graph,
                   const ModelOptions& options);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_TUNER_H_
