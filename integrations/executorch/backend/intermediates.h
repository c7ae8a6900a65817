// Results of a delegate's nodes for ExecuTorch's debug buffer.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_INTERMEDIATES_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_INTERMEDIATES_H_

#include <executorch/runtime/core/event_tracer.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "integrations/executorch/lower/intermediates.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// Whether a delegate that is loaded with this tracer, which may be null, logs the results of its
// nodes.
bool LogsIntermediates(::executorch::runtime::EventTracer* tracer);

// The results of the nodes of a graph from WithIntermediates(). Owns the memory of those that are
// not outputs of the delegate. Not thread-safe.
class Intermediates {
 public:
  explicit Intermediates(std::vector<ObservedNode> nodes = {}) : nodes_(std::move(nodes)) {}

  // Appends memory for the further outputs of the model to those of the delegate, for a run.
  // `infos` are all outputs of the model.
  void AppendTo(std::vector<std::span<std::byte>>& outputs, std::span<const TensorInfo> infos);
  // Logs the results of the last run, with the names of the nodes. Fails with kOutOfMemory if the
  // tracer's buffer is too small.
  Status Log(::executorch::runtime::EventTracer& tracer, std::span<const TensorInfo> infos);

 private:
  std::vector<ObservedNode> nodes_;
  std::vector<std::vector<std::byte>> bytes_;  // of further outputs
  std::vector<std::span<std::byte>> outputs_;  // of the last run
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_INTERMEDIATES_H_
