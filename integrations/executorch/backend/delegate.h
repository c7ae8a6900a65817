#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "integrations/executorch/backend/border.h"
#include "integrations/executorch/backend/session.h"
#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/lowering.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// One delegate of a program, loaded. One call at a time.
class Delegate {
 public:
  // The blob and the named data are not needed afterwards. Fails as ReadProgram(), Lower() and
  // Model::LoadFromMemory() do.
  static Result<std::unique_ptr<Delegate>> Load(const Session& session,
                                                std::span<const std::byte> blob,
                                                const NamedData& named_data, ModelOptions options);

  // Takes the inputs and, behind them, the outputs: computes those, of the sizes that follow.
  Status Execute(std::span<EValue* const> values);
  // What the dispatches of the last run took, if `options` asked for that.
  Result<std::vector<DispatchProfile>> Profile() const { return model_.Profile(); }

 private:
  Delegate(Model model, Lowered lowered);

  Status Resize(std::span<EValue* const> inputs);
  Status CheckMayVary(std::span<const Shape> shapes) const;
  Status Run(std::span<EValue* const> inputs, std::span<EValue* const> outputs);

  Model model_;
  Lowered lowered_;  // but for the graph
  std::vector<int64_t> steps_;
  std::vector<std::vector<std::byte>> in_scratch_;
  std::vector<std::vector<std::byte>> out_scratch_;
  std::vector<std::byte> zeros_;  // what tensors hold that stand for their length
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_H_
