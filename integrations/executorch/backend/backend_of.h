// What all backends do for ExecuTorch, whatever their delegates are made of.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_BACKEND_OF_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_BACKEND_OF_H_

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/platform.h>

#include <memory>
#include <span>

#include "integrations/executorch/backend/events.h"
#include "integrations/executorch/backend/guarded.h"
#include "integrations/executorch/backend/options.h"
#include "integrations/executorch/backend/report.h"
#include "integrations/executorch/backend/session.h"
#include "spirloom/model.h"

namespace spirloom::delegate {

// Makes a delegate of its payload, which is not needed afterwards.
template <typename Delegate>
using Loader = Result<std::unique_ptr<Delegate>> (*)(
    ::executorch::runtime::BackendInitContext&, const ::executorch::runtime::FreeableBuffer&,
    ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec>);

// `load(options)`, with times of dispatches if there is a tracer for them and the device has any.
template <typename Load>
auto LoadWithTimes(::executorch::runtime::BackendInitContext& context, ModelOptions options,
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
class BackendOf final : public ::executorch::runtime::BackendInterface {
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
    ForgetError();
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
      // Without times, results are results all the same.
      if (dispatches.ok()) LogEvents(*context.event_tracer(), start, *dispatches);
      return Status();
    });
    if (!status.ok()) return Report(status);
    ForgetError();
    return Error::Ok;
  }

  Error set_option(
      ::executorch::runtime::BackendOptionContext&,
      const ::executorch::runtime::Span<::executorch::runtime::BackendOption>& options) override {
    const Status status = CheckRuntimeSpecs({options.data(), options.size()});
    return status.ok() ? Error::Ok : Report(status);
  }

  void destroy(Handle* handle) const override { delete static_cast<Delegate*>(handle); }
};

// Registers the backend under the name, when the library is loaded: ExecuTorch's registry has no
// other way. It is never destroyed, for the registry has no way to forget one.
template <typename Backend>
bool Register(const char* name) {
  static ::executorch::runtime::Backend entry{name, new Backend};
  return ::executorch::runtime::register_backend(entry) == ::executorch::runtime::Error::Ok;
}

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_BACKEND_OF_H_
