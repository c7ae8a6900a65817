#include "integrations/executorch/backend/options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

constexpr std::string_view kStorage = "storage_type_override";

// Options of ExecuTorch's partitioner that only affect the export.
constexpr std::array<std::string_view, 18> kExportOptions{"alias_buffer_mutations",
                                                          "buffer_limit",
                                                          "downcast_64_bit",
                                                          "external_constants_max_data_bytes",
                                                          "force_fp16",
                                                          "memory_layout_override",
                                                          "nn_module_allowlist",
                                                          "nn_module_blocklist",
                                                          "operator_allowlist",
                                                          "operator_blocklist",
                                                          "require_dynamic_shapes",
                                                          "skip_bool_tensors",
                                                          "skip_memory_planning",
                                                          "skip_tag_memory_metadata",
                                                          "small_texture_limits",
                                                          "texture_limits_x",
                                                          "texture_limits_y",
                                                          "texture_limits_z"};

// The same of spirloom.executorch.SpirloomPartitioner.
constexpr std::array<std::string_view, 5> kGraphExportOptions{
    "force_fp16", "ranges", "require_dynamic_shapes", "spec_dirs", "storage"};

// The values are those of `storage` in vk_graph.fbs.
Result<Storage> ReadStorage(const ::executorch::runtime::SizedBuffer& value) {
  constexpr std::array kStorages{Storage::kBuffer, Storage::kTexture3D, Storage::kTexture2D};
  constexpr uint8_t kDefault = 255;
  const auto* bytes = static_cast<const uint8_t*>(value.buffer);
  if (value.nbytes > 0 && bytes[0] < kStorages.size()) return kStorages[bytes[0]];
  if (value.nbytes > 0 && bytes[0] == kDefault) return Storage::kAuto;
  return Error(StatusCode::kUnsupported,
               {"The compile option '", kStorage, "' is not one of 0, 1, 2 and 255."});
}

Status UnknownOption(std::string_view key) {
  return Error(StatusCode::kUnsupported, {"The compile option ", Quote(key), " is unknown."});
}

}  // namespace

Result<ModelOptions> ReadCompileSpecs(
    ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs) {
  ModelOptions options;
  for (const auto& spec : specs) {
    const std::string_view key = spec.key == nullptr ? "" : spec.key;
    if (key == kStorage) {
      SPIRLOOM_TRY_ASSIGN(options.storage, ReadStorage(spec.value));
    } else if (std::ranges::find(kExportOptions, key) == kExportOptions.end()) {
      return UnknownOption(key);
    }
  }
  return options;
}

Status CheckGraphSpecs(::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs) {
  for (const auto& spec : specs) {
    const std::string_view key = spec.key == nullptr ? "" : spec.key;
    if (std::ranges::find(kGraphExportOptions, key) != kGraphExportOptions.end()) continue;
    return UnknownOption(key);
  }
  return Status();
}

Status CheckRuntimeSpecs(
    ::executorch::runtime::Span<const ::executorch::runtime::BackendOption> options) {
  if (options.empty()) return Status();
  return Error(StatusCode::kUnsupported, {"The backend option ", Quote(options[0].key),
                                          " is unknown; the backend has no options."});
}

}  // namespace spirloom::delegate
