// ExecuTorch's BackendInterface, implemented for any delegate class.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_BACKEND_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_BACKEND_H_

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/platform.h>

#include <memory>
#include <span>

#include "integrations/executorch/backend/events.h"
#include "integrations/executorch/backend/options.h"
#include "integrations/executorch/backend/report.h"
#include "integrations/executorch/backend/session.h"
#include "runtime/base/guarded.h"
#include "spirloom/model.h"

namespace spirloom::delegate {

// Creates a delegate from its payload. The payload may be freed afterwards; a loader that needs it
// longer moves it.
template <typename Delegate>
using Loader = Result<std::unique_ptr<Delegate>> (*)(
    ::executorch::runtime::BackendInitContext&, ::executorch::runtime::FreeableBuffer&,
    ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec>);

// Returns `load(options)`. Dispatches are timed if `context` has an event tracer and the device has
// timestamps.
template <typename Load>
auto LoadWithProfiling(::executorch::runtime::BackendInitContext& context, ModelOptions options,
                       const Load& load) {
  options.profile = context.event_tracer() != nullptr;
  auto delegate = load(options);
  if (delegate.ok() || !options.profile || delegate.status().code() != StatusCode::kUnsupported) {
    return delegate;
  }
  options.profile = false;  // the device may have no timestamps
  return load(options);
}

template <typename Delegate, Loader<Delegate> kLoad>
class DelegateBackend final : public ::executorch::runtime::BackendInterface {
  using Error = ::executorch::runtime::Error;
  using Handle = ::executorch::runtime::DelegateHandle;

 public:
  bool is_available() const override { return IsAvailable(); }

  ::executorch::runtime::Result<Handle*> init(
      ::executorch::runtime::BackendInitContext& context,
      ::executorch::runtime::FreeableBuffer* processed,
      ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> compile_specs)
      const override {
    std::unique_ptr<Delegate> delegate;
    const Status status = Guarded([&]() -> Status {
      SPIRLOOM_TRY_ASSIGN(delegate, kLoad(context, *processed, compile_specs));
      return Status();
    });
    if (!status.ok()) return Report(status);
    ClearError();
    processed->Free();
    return delegate.release();
  }

  Error execute(::executorch::runtime::BackendExecutionContext& context, Handle* handle,
                ::executorch::runtime::Span<::executorch::runtime::EValue*> args) const override {
    const Status status = Guarded([&]() -> Status {
      auto& delegate = *static_cast<Delegate*>(handle);
      const et_timestamp_t start = et_pal_current_ticks();
      SPIRLOOM_TRY(delegate.Execute(std::span(args.data(), args.size())));
      if (context.event_tracer() == nullptr) return Status();
      const auto dispatches = delegate.Profile();
      // A run without dispatch times is still successful.
      if (dispatches.ok()) LogEvents(*context.event_tracer(), start, *dispatches);
      return delegate.LogIntermediates(*context.event_tracer());
    });
    if (!status.ok()) return Report(status);
    ClearError();
    return Error::Ok;
  }

  Error set_option(
      ::executorch::runtime::BackendOptionContext&,
      const ::executorch::runtime::Span<::executorch::runtime::BackendOption>& options) override {
    const Status status = Guarded([&]() -> Status {
      return SetDefaultOptions({options.data(), options.size()});
    });
    return status.ok() ? Error::Ok : Report(status);
  }

  void destroy(Handle* handle) const override { delete static_cast<Delegate*>(handle); }
};

// Registers the backend under the name while the library is loaded. The backend is never destroyed,
// because ExecuTorch's registry cannot remove an entry. Returns false if the name is taken.
template <typename Backend>
bool Register(const char* name) {
  static ::executorch::runtime::Backend entry{name, new Backend};
  return ::executorch::runtime::register_backend(entry) == ::executorch::runtime::Error::Ok;
}

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_BACKEND_H_
