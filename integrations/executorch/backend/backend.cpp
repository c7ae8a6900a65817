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

// A delegate's blob and the named data of the program. Owns both. Find() requires the map, which
// exists until the delegate is loaded.
class ProgramData {
 public:
  ProgramData(et::FreeableBuffer blob, const et::NamedDataMap* map)
      : map_(map), blob_(std::move(blob)) {}

  std::span<const std::byte> blob() const {
    return {static_cast<const std::byte*>(blob_.data()), blob_.size()};
  }

  std::optional<std::span<const std::byte>> Find(std::string_view key) {
    if (map_ == nullptr) return std::nullopt;
    et::Result<et::FreeableBuffer> data = map_->get_data(key);
    if (!data.ok()) return std::nullopt;
    const et::FreeableBuffer& buffer = buffers_.emplace_back(std::move(data.get()));
    return std::span(static_cast<const std::byte*>(buffer.data()), buffer.size());
  }

 private:
  const et::NamedDataMap* map_;
  et::FreeableBuffer blob_;
  std::vector<et::FreeableBuffer> buffers_;
};

Result<std::unique_ptr<Delegate>> Load(et::BackendInitContext& context, et::FreeableBuffer& blob,
                                       et::ArrayRef<et::CompileSpec> compile_specs) {
  SPIRLOOM_TRY_ASSIGN(const BackendOptions backend, ReadRuntimeSpecs(context.runtime_specs()));
  SPIRLOOM_TRY_ASSIGN(ModelOptions options, ReadCompileSpecs(compile_specs));
  backend.ApplyTo(options);
  SPIRLOOM_TRY_ASSIGN(const auto session, SharedSession(backend.session));
  const auto data = std::make_shared<ProgramData>(std::move(blob), context.get_named_data_map());
  const NamedData find = [&](std::string_view key) { return data->Find(key); };
  return LoadWithProfiling(context, options, [&](const ModelOptions& chosen) {
    return Delegate::Load(*session, data, data->blob(), find, chosen,
                          LogsIntermediates(context.event_tracer()));
  });
}

const bool is_registered = Register<DelegateBackend<Delegate, Load>>(kVulkanBackend);

}  // namespace

bool IsVulkanBackendRegistered() { return is_registered; }

}  // namespace spirloom::delegate
