#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "integrations/executorch/backend/delegate_values.h"
#include "integrations/executorch/backend/session.h"
#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/lowering.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// A loaded delegate of ExecuTorch's Vulkan partitioner. Owns its model. Not thread-safe.
class Delegate {
 public:
  // The blob and the named data may be freed afterwards. Fails as ReadProgram(), Lower() and
  // Model::LoadFromMemory() do.
  static Result<std::unique_ptr<Delegate>> Load(const Session& session,
                                                std::span<const std::byte> blob,
                                                const NamedData& named_data, ModelOptions options);

  // `values` are the inputs, then the outputs. Resizes the model and the outputs and runs.
  Status Execute(std::span<EValue* const> values);
  // GPU times of the last run's dispatches. Requires ModelOptions::profile.
  Result<std::vector<DispatchProfile>> Profile() const { return model_.Profile(); }

 private:
  Delegate(Model model, Lowered lowered);

  Status Resize(std::span<EValue* const> inputs);
  Status CheckFixedSizes(std::span<const Shape> shapes) const;
  Status Run(std::span<EValue* const> inputs, std::span<EValue* const> outputs);

  Model model_;
  Lowered lowered_;  // `graph` is empty
  std::vector<int64_t> steps_;
  std::vector<std::vector<std::byte>> in_scratch_;
  std::vector<std::vector<std::byte>> out_scratch_;
  std::vector<std::byte> zeros_;  // data of the inputs that pass a size as their length
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_H_
