// The backend that ExecuTorch finds under "SpirloomBackend": delegates of Spirloom's own
// partitioner, spirloom.executorch.SpirloomPartitioner.
#include <executorch/runtime/backend/interface.h>

#include <memory>
#include <span>

#include "integrations/executorch/backend/backend_of.h"
#include "integrations/executorch/backend/graph_delegate.h"
#include "integrations/executorch/backend/options.h"
#include "integrations/executorch/backend/registered.h"
#include "integrations/executorch/backend/session.h"
#include "spirloom/runtime.h"

namespace spirloom::delegate {
namespace {

namespace et = ::executorch::runtime;

Result<std::unique_ptr<GraphDelegate>> LoadGraph(et::BackendInitContext& context,
                                                 const et::FreeableBuffer& file,
                                                 et::ArrayRef<et::CompileSpec> compile_specs) {
  SPIRLOOM_TRY(CheckRuntimeSpecs(context.runtime_specs()));
  SPIRLOOM_TRY(CheckGraphSpecs(compile_specs));
  SPIRLOOM_TRY_ASSIGN(const Session* session, SharedSession());
  const std::span bytes(static_cast<const std::byte*>(file.data()), file.size());
  return LoadWithTimes(context, ModelOptions(), [&](const ModelOptions& options) {
    return GraphDelegate::Load(*session, bytes, options);
  });
}

const bool is_graph_backend_registered =
    Register<BackendOf<GraphDelegate, LoadGraph>>(kGraphBackend);

}  // namespace

bool IsGraphBackendRegistered() { return is_graph_backend_registered; }

}  // namespace spirloom::delegate
