// The backend that ExecuTorch finds under "SpirloomBackend": delegates of Spirloom's own
// partitioner, spirloom.executorch.SpirloomPartitioner.
#include <executorch/runtime/backend/interface.h>

#include <memory>
#include <span>
#include <utility>

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
  return GraphDelegate::Load(*session, {static_cast<const std::byte*>(file.data()), file.size()});
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

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* handle,
                    et::Span<et::EValue*> args) const override {
    const Status status = Guarded([&] {
      return static_cast<GraphDelegate*>(handle)->Execute(std::span(args.data(), args.size()));
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
