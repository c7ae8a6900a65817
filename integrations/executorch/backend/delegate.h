#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "integrations/executorch/backend/delegate_values.h"
#include "integrations/executorch/backend/intermediates.h"
#include "integrations/executorch/backend/session.h"
#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/lowering.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// A loaded delegate of ExecuTorch's Vulkan partitioner. Owns its model. Not thread-safe.
class Delegate {
 public:
  // `owner` keeps the blob and the named data alive, whose constants are used without a copy. It is
  // released when no later shapes can need them. `logs_intermediates` keeps the results of all
  // nodes for LogIntermediates(). Fails as ReadProgram(), Lower() and Model::LoadFromMemory() do.
  static Result<std::unique_ptr<Delegate>> Load(const Session& session,
                                                std::shared_ptr<const void> owner,
                                                std::span<const std::byte> blob,
                                                const NamedData& named_data, ModelOptions options,
                                                bool logs_intermediates);

  // `values` are the inputs, then the outputs. Resizes the model and the outputs and runs.
  Status Execute(std::span<EValue* const> values);
  // GPU times of the last run's dispatches. Requires ModelOptions::profile.
  Result<std::vector<DispatchProfile>> Profile() const { return model_.Profile(); }
  // Logs the results of the last run's nodes, if the delegate was loaded for it.
  Status LogIntermediates(::executorch::runtime::EventTracer& tracer) {
    return intermediates_.Log(tracer, model_.outputs());
  }

 private:
  Delegate(Model model, Lowered lowered, std::vector<ObservedNode> nodes);

  // Whether a later run may have other shapes. The delegate's graph has a symbol for every size,
  // but ExecuTorch marks the tensors of the program that it can resize.
  bool HasDynamicShapes(std::span<EValue* const> values) const;
  Status Resize(std::span<EValue* const> inputs);
  Status CheckFixedSizes(std::span<const Shape> shapes) const;
  // Appends the data of the tensors among Lowered::int_inputs, which is valid until the next call.
  void AddIntInputs(std::vector<std::span<const std::byte>>& in);
  Status Run(std::span<EValue* const> inputs, std::span<EValue* const> outputs);

  Model model_;
  Lowered lowered_;  // `graph` is empty
  bool is_first_run_ = true;
  std::vector<int64_t> steps_;
  Intermediates intermediates_;
  std::vector<std::vector<std::byte>> in_scratch_;
  std::vector<std::vector<std::byte>> out_scratch_;
  std::vector<int32_t> ints_;  // values of Lowered::int_inputs that are tensors
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_H_
