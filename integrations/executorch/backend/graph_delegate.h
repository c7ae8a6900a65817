#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_GRAPH_DELEGATE_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_GRAPH_DELEGATE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "integrations/executorch/backend/border.h"
#include "integrations/executorch/backend/session.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// One delegate of Spirloom's own partitioner, loaded: its payload is a graph file. One call at a
// time.
class GraphDelegate {
 public:
  // The file is not needed afterwards. Fails as Model::LoadFromMemory().
  static Result<std::unique_ptr<GraphDelegate>> Load(const Session& session,
                                                     std::span<const std::byte> file,
                                                     const ModelOptions& options);

  // Takes the inputs and, behind them, the outputs: computes those, of the sizes that follow.
  // Inputs that are no tensors are sizes, which those of the tensors tell as well.
  Status Execute(std::span<EValue* const> values);
  // What the dispatches of the last run took, if `options` asked for that.
  Result<std::vector<DispatchProfile>> Profile() const { return model_.Profile(); }

 private:
  explicit GraphDelegate(Model model);

  Status Resize(std::span<EValue* const> inputs);
  Status Run(std::span<EValue* const> inputs, std::span<EValue* const> outputs);
  Result<std::span<const std::byte>> Take(const EValue& value, size_t i);

  Model model_;
  std::vector<Border> inputs_;
  std::vector<Border> outputs_;
  std::vector<std::vector<std::byte>> in_scratch_;
  std::vector<std::vector<std::byte>> out_scratch_;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_GRAPH_DELEGATE_H_
