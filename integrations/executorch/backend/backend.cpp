// The ExecuTorch backend registered as "VulkanBackend".
#include <executorch/runtime/backend/interface.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "integrations/executorch/backend/delegate.h"
#include "integrations/executorch/backend/delegate_backend.h"
#include "integrations/executorch/backend/options.h"
#include "integrations/executorch/backend/registration.h"
#include "integrations/executorch/backend/session.h"
#include "spirloom/runtime.h"

namespace spirloom::delegate {
namespace {

namespace et = ::executorch::runtime;

// Named data of the program. Owns the buffers that Find() returned, until the delegate is loaded.
class DataMap {
 public:
  explicit DataMap(const et::NamedDataMap* map) : map_(map) {}

  std::optional<std::span<const std::byte>> Find(std::string_view key) {
    if (map_ == nullptr) return std::nullopt;
    et::Result<et::FreeableBuffer> data = map_->get_data(key);
    if (!data.ok()) return std::nullopt;
    const et::FreeableBuffer& buffer = buffers_.emplace_back(std::move(data.get()));
    return std::span(static_cast<const std::byte*>(buffer.data()), buffer.size());
  }

 private:
  const et::NamedDataMap* map_;
  std::vector<et::FreeableBuffer> buffers_;
};

Result<std::unique_ptr<Delegate>> Load(et::BackendInitContext& context, et::FreeableBuffer& blob,
                                       et::ArrayRef<et::CompileSpec> compile_specs) {
  SPIRLOOM_TRY_ASSIGN(const BackendOptions backend, ReadRuntimeSpecs(context.runtime_specs()));
  SPIRLOOM_TRY_ASSIGN(ModelOptions options, ReadCompileSpecs(compile_specs));
  backend.ApplyTo(options);
  SPIRLOOM_TRY_ASSIGN(const Session* session, SharedSession(backend.session));
  DataMap data(context.get_named_data_map());
  const std::span bytes(static_cast<const std::byte*>(blob.data()), blob.size());
  const NamedData find = [&](std::string_view key) { return data.Find(key); };
  return LoadWithProfiling(context, options, [&](const ModelOptions& chosen) {
    return Delegate::Load(*session, bytes, find, chosen, LogsIntermediates(context.event_tracer()));
  });
}

const bool is_registered = Register<DelegateBackend<Delegate, Load>>(kVulkanBackend);

}  // namespace

bool IsVulkanBackendRegistered() { return is_registered; }

}  // namespace spirloom::delegate
