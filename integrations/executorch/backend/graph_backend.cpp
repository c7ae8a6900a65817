// The backend that ExecuTorch finds under "SpirloomBackend": delegates of Spirloom's own
// partitioner, spirloom.executorch.SpirloomPartitioner.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/platform/platform.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "integrations/executorch/backend/events.h"
#include "integrations/executorch/backend/graph_delegate.h"
#include "integrations/executorch/backend/guarded.h"
#include "integrations/executorch/backend/options.h"
#include "integrations/executorch/backend/registered.h"
#include "integrations/executorch/backend/report.h"
#include "integrations/executorch/backend/session.h"
#include "spirloom/runtime.h"

namespace spirloom::delegate {
namespace {

namespace et = ::executorch::runtime;

Result<std::unique_ptr<GraphDelegate>> Load(et::BackendInitContext& context,
                                            const et::FreeableBuffer& file,
                                            et::ArrayRef<et::CompileSpec> compile_specs) {
  SPIRLOOM_TRY(CheckRuntimeSpecs(context.runtime_specs()));
  SPIRLOOM_TRY(CheckGraphSpecs(compile_specs));
  SPIRLOOM_TRY_ASSIGN(const Session* session, SharedSession());
  const std::span bytes(static_cast<const std::byte*>(file.data()), file.size());
  ModelOptions options;
  options.profile = context.event_tracer() != nullptr;
  auto delegate = GraphDelegate::Load(*session, bytes, options);
  if (delegate.ok() || !options.profile || delegate.status().code() != StatusCode::kUnsupported) {
    return delegate;
  }
  options.profile = false;  // the device may have no timestamps
  return GraphDelegate::Load(*session, bytes, options);
}

class GraphBackend final : public et::BackendInterface {
 public:
  bool is_available() const override { return IsAvailable(); }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                       et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec> compile_specs) const override {
    std::unique_ptr<GraphDelegate> delegate;
    const Status status = Guarded([&]() -> Status {
      SPIRLOOM_TRY_ASSIGN(delegate, Load(context, *processed, compile_specs));
      return Status();
    });
    if (!status.ok()) return Report(status);
    processed->Free();
    return delegate.release();
  }

  et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                    et::Span<et::EValue*> args) const override {
    const Status status = Guarded([&]() -> Status {
      auto& delegate = *static_cast<GraphDelegate*>(handle);
      const et_timestamp_t start = et_pal_current_ticks();
      SPIRLOOM_TRY(delegate.Execute(std::span(args.data(), args.size())));
      if (context.event_tracer() == nullptr) return Status();
      SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> dispatches, delegate.Profile());
      LogEvents(*context.event_tracer(), start, dispatches);
      return Status();
    });
    return status.ok() ? et::Error::Ok : Report(status);
  }

  et::Error set_option(et::BackendOptionContext&,
                       const et::Span<et::BackendOption>& options) override {
    const Status status = CheckRuntimeSpecs({options.data(), options.size()});
    return status.ok() ? et::Error::Ok : Report(status);
  }

  void destroy(et::DelegateHandle* handle) const override {
    delete static_cast<GraphDelegate*>(handle);
  }
};

const bool is_registered = [] {
  static et::Backend entry{kGraphBackend, new GraphBackend};
  return et::register_backend(entry) == et::Error::Ok;
}();

}  // namespace

bool IsGraphBackendRegistered() { return is_registered; }

}  // namespace spirloom::delegate
