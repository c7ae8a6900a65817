// The ExecuTorch backend registered as "SpirloomBackend": runs the delegates of
// spirloom.executorch.SpirloomPartitioner.
#include <executorch/runtime/backend/interface.h>

#include <memory>
#include <span>
#include <utility>

#include "integrations/executorch/backend/delegate_backend.h"
#include "integrations/executorch/backend/graph_delegate.h"
#include "integrations/executorch/backend/options.h"
#include "integrations/executorch/backend/registration.h"
#include "integrations/executorch/backend/session.h"
#include "spirloom/runtime.h"

namespace spirloom::delegate {
namespace {

namespace et = ::executorch::runtime;

Result<std::unique_ptr<GraphDelegate>> LoadGraph(et::BackendInitContext& context,
                                                 et::FreeableBuffer& file,
                                                 et::ArrayRef<et::CompileSpec> compile_specs) {
  SPIRLOOM_TRY_ASSIGN(const BackendOptions backend, ReadRuntimeSpecs(context.runtime_specs()));
  SPIRLOOM_TRY(CheckGraphSpecs(compile_specs));
  SPIRLOOM_TRY_ASSIGN(const auto session, SharedSession(backend.session));
  ModelOptions chosen;
  backend.ApplyTo(chosen);
  const auto owner = std::make_shared<et::FreeableBuffer>(std::move(file));
  const std::span bytes(static_cast<const std::byte*>(owner->data()), owner->size());
  return LoadWithProfiling(context, chosen, [&](const ModelOptions& options) {
    return GraphDelegate::Load(*session, owner, bytes, options,
                               LogsIntermediates(context.event_tracer()));
  });
}

const bool is_graph_backend_registered =
    Register<DelegateBackend<GraphDelegate, LoadGraph>>(kGraphBackend);

}  // namespace

bool IsGraphBackendRegistered() { return is_graph_backend_registered; }

}  // namespace spirloom::delegate
