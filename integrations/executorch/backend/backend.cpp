// ExecuTorch's view of the delegate: the backend that it finds under "VulkanBackend".
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/platform.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "integrations/executorch/backend/delegate.h"
#include "integrations/executorch/backend/events.h"
#include "integrations/executorch/backend/guarded.h"
#include "integrations/executorch/backend/options.h"
#include "integrations/executorch/backend/registered.h"
#include "integrations/executorch/backend/report.h"
#include "integrations/executorch/backend/session.h"
#include "spirloom/runtime.h"

namespace spirloom::delegate {
namespace {

namespace et = ::executorch::runtime;

// Named data of the program, kept until the delegate is loaded.
class DataMap {
 public:
  explicit DataMap(const et::NamedDataMap* map) : map_(map) {}

  std::optional<std::span<const std::byte>> Find(std::string_view key) {
    if (map_ == nullptr) return std::nullopt;
    et::Result<et::FreeableBuffer> data = map_->get_data(key);
    if (!data.ok()) return std::nullopt;
    const et::FreeableBuffer& buffer = kept_.emplace_back(std::move(data.get()));
    return std::span(static_cast<const std::byte*>(buffer.data()), buffer.size());
  }

 private:
  const et::NamedDataMap* map_;
  std::vector<et::FreeableBuffer> kept_;
};

Result<std::unique_ptr<Delegate>> Load(et::BackendInitContext& context,
                                       const et::FreeableBuffer& blob,
                                       et::ArrayRef<et::CompileSpec> compile_specs) {
  SPIRLOOM_TRY(CheckRuntimeSpecs(context.runtime_specs()));
  SPIRLOOM_TRY_ASSIGN(ModelOptions options, ReadCompileSpecs(compile_specs));
  options.profile = context.event_tracer() != nullptr;
  SPIRLOOM_TRY_ASSIGN(const Session* session, SharedSession());
  DataMap data(context.get_named_data_map());
  const std::span bytes(static_cast<const std::byte*>(blob.data()), blob.size());
  const NamedData find = [&](std::string_view key) { return data.Find(key); };
  auto delegate = Delegate::Load(*session, bytes, find, options);
  if (delegate.ok() || !options.profile || delegate.status().code() != StatusCode::kUnsupported) {
    return delegate;
  }
  options.profile = false;  // the device may have no timestamps
  return Delegate::Load(*session, bytes, find, options);
}

class Backend final : public et::BackendInterface {
 public:
  bool is_available() const override { return IsAvailable(); }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                       et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec> compile_specs) const override {
    std::unique_ptr<Delegate> delegate;
    const Status status = Guarded([&]() -> Status {
      SPIRLOOM_TRY_ASSIGN(delegate, Load(context, *processed, compile_specs));
      return Status();
    });
    if (!status.ok()) return Report(status);
    ForgetError();
    processed->Free();
    return delegate.release();
  }

  et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                    et::Span<et::EValue*> args) const override {
    const Status status = Guarded([&]() -> Status {
      auto& delegate = *static_cast<Delegate*>(handle);
      const et_timestamp_t start = et_pal_current_ticks();
      SPIRLOOM_TRY(delegate.Execute(std::span(args.data(), args.size())));
      if (context.event_tracer() == nullptr) return Status();
      SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> dispatches, delegate.Profile());
      LogEvents(*context.event_tracer(), start, dispatches);
      return Status();
    });
    if (!status.ok()) return Report(status);
    ForgetError();
    return et::Error::Ok;
  }

  et::Error set_option(et::BackendOptionContext&,
                       const et::Span<et::BackendOption>& options) override {
    const Status status = CheckRuntimeSpecs({options.data(), options.size()});
    return status.ok() ? et::Error::Ok : Report(status);
  }

  void destroy(et::DelegateHandle* handle) const override { delete static_cast<Delegate*>(handle); }
};

// ExecuTorch's registry has no other way: whoever loads the library wants it there. Neither is ever
// destroyed, for the registry has no way to forget a backend.
const bool is_registered = [] {
  static et::Backend entry{kVulkanBackend, new Backend};
  return et::register_backend(entry) == et::Error::Ok;
}();

}  // namespace

bool IsVulkanBackendRegistered() { return is_registered; }

}  // namespace spirloom::delegate
