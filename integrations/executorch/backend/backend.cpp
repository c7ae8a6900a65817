// ExecuTorch's view of the delegate: the backend that it finds under "VulkanBackend".
#include <executorch/runtime/backend/interface.h>

#include <exception>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "integrations/executorch/backend/delegate.h"
#include "integrations/executorch/backend/options.h"
#include "integrations/executorch/backend/report.h"
#include "integrations/executorch/backend/session.h"
#include "integrations/executorch/include/spirloom/executorch.h"
#include "runtime/base/error.h"
#include "spirloom/runtime.h"

namespace spirloom::delegate {
namespace {

namespace et = ::executorch::runtime;

constexpr char kName[] = "VulkanBackend";

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
  SPIRLOOM_TRY_ASSIGN(const ModelOptions options, ReadCompileSpecs(compile_specs));
  SPIRLOOM_TRY_ASSIGN(const Session* session, SharedSession());
  DataMap data(context.get_named_data_map());
  const std::span bytes(static_cast<const std::byte*>(blob.data()), blob.size());
  return Delegate::Load(
      *session, bytes, [&](std::string_view key) { return data.Find(key); }, options);
}

// Runs `work`, which returns a Status; what the standard library throws becomes one.
template <typename Work>
Status Guarded(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  } catch (const std::exception& error) {
    return Error(StatusCode::kInternal, {error.what()});
  }
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

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* handle,
                    et::Span<et::EValue*> args) const override {
    const Status status = Guarded([&] {
      return static_cast<Delegate*>(handle)->Execute(std::span(args.data(), args.size()));
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
  static et::Backend entry{kName, new Backend};
  return et::register_backend(entry) == et::Error::Ok;
}();

}  // namespace
}  // namespace spirloom::delegate

extern "C" int spirloom_executorch_is_registered() { return spirloom::delegate::is_registered; }
