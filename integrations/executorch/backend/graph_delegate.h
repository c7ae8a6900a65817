#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_GRAPH_DELEGATE_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_GRAPH_DELEGATE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "integrations/executorch/backend/delegate_values.h"
#include "integrations/executorch/backend/intermediates.h"
#include "integrations/executorch/backend/session.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// A loaded delegate of SpirloomPartitioner; its payload is a graph file. Owns its model. Not
// thread-safe.
class GraphDelegate {
 public:
  // `owner` keeps the file alive; a graph without symbols releases it at the end of loading.
  // `logs_intermediates` keeps the results of all nodes for LogIntermediates(). Fails as
  // Model::LoadFromMemory().
  static Result<std::unique_ptr<GraphDelegate>> Load(const Session& session,
                                                     std::shared_ptr<const void> owner,
                                                     std::span<const std::byte> file,
                                                     const ModelOptions& options,
                                                     bool logs_intermediates);

  // `values` are the inputs, then the outputs. Resizes the model and the outputs and runs. Inputs
  // that are not tensors are ignored: they are sizes, which the shapes of the tensors determine.
  Status Execute(std::span<EValue* const> values);
  // GPU times of the last run's dispatches. Requires ModelOptions::profile.
  Result<std::vector<DispatchProfile>> Profile() const { return model_.Profile(); }
  // Logs the results of the last run's nodes, if the delegate was loaded for it.
  Status LogIntermediates(::executorch::runtime::EventTracer& tracer) {
    return intermediates_.Log(tracer, model_.outputs());
  }

 private:
  // The first `outputs` outputs of the model are those of the delegate.
  GraphDelegate(Model model, size_t outputs, std::vector<ObservedNode> nodes);

  Status Resize(std::span<EValue* const> inputs);
  Status Run(std::span<EValue* const> inputs, std::span<EValue* const> outputs);
  Result<std::span<const std::byte>> CheckedInputBytes(const EValue& value, size_t i);

  Model model_;
  std::vector<IoSpec> inputs_;
  std::vector<IoSpec> outputs_;
  Intermediates intermediates_;
  std::vector<std::vector<std::byte>> in_scratch_;
  std::vector<std::vector<std::byte>> out_scratch_;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_GRAPH_DELEGATE_H_
