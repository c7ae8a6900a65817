#include "integrations/executorch/backend/options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using ::executorch::runtime::BackendOption;
using Specs = ::executorch::runtime::Span<const BackendOption>;

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
constexpr std::array<std::string_view, 6> kGraphExportOptions{
    "force_fp16", "keep_float32", "ranges", "require_dynamic_shapes", "spec_dirs", "storage"};

// The values are those of `storage` in vk_graph.fbs.
Result<Storage> ReadStorage(const ::executorch::runtime::SizedBuffer& value) {
  constexpr std::array kStorages{Storage::kBuffer, Storage::kTexture3D, Storage::kTexture2D};
  constexpr uint8_t kDefault = 255;
  const auto* bytes = static_cast<const uint8_t*>(value.buffer);
  if (value.nbytes > 0 && bytes[0] < kStorages.size()) return kStorages[bytes[0]];
  if (value.nbytes > 0 && bytes[0] == kDefault) return Storage::kAuto;
  return Error(StatusCode::kUnsupported, "The compile option '{}' is not one of 0, 1, 2 and 255.",
               kStorage);
}

Status UnknownOption(std::string_view key) {
  return Error(StatusCode::kUnsupported, "The compile option {} is unknown.", Quote(key));
}

// The process's default options.
class Defaults {
 public:
  static BackendOptions Get() {
    const std::lock_guard lock(mutex_);
    return options_;
  }
  static void Set(BackendOptions options) {
    const std::lock_guard lock(mutex_);
    options_ = std::move(options);
  }

 private:
  static inline std::mutex mutex_;
  static inline BackendOptions options_;
};

template <typename Value>
Status ReadValue(const BackendOption& option, const char* expected, Value& value) {
  if (const auto* given = std::get_if<Value>(&option.value)) {
    value = *given;
    return Status();
  }
  return Error(StatusCode::kInvalidArgument, "The backend option {} is not {}.", Quote(option.key),
               expected);
}

Status ReadText(const BackendOption& option, std::string& text) {
  std::array<char, ::executorch::runtime::kMaxOptionValueLength> value{};
  SPIRLOOM_TRY(ReadValue(option, "a string", value));
  text.assign(value.begin(), std::ranges::find(value, '\0'));
  return Status();
}

Status ReadOption(const BackendOption& option, BackendOptions& options) {
  const std::string_view key = option.key;
  if (key == "device") return ReadText(option, options.session.device);
  if (key == "autotune") return ReadValue(option, "a bool", options.autotune);
  if (key == "memory_limit_mib") {
    int limit = 0;
    SPIRLOOM_TRY(ReadValue(option, "an int", limit));
    if (limit < 0) {
      return Error(StatusCode::kInvalidArgument,
                   "The backend option 'memory_limit_mib' ({}) is negative.", limit);
    }
    options.session.memory_limit = static_cast<uint64_t>(limit) << 20;
    return Status();
  }
  if (key == "libraries") {
    std::string paths;
    SPIRLOOM_TRY(ReadText(option, paths));
    options.session.libraries.clear();
    for (std::string_view rest = paths; !rest.empty();) {
      const std::string_view path = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), path.size() + 1));
      if (!path.empty()) options.session.libraries.emplace_back(path);
    }
    return Status();
  }
  return Error(StatusCode::kUnsupported,
               "The backend option {} is unknown; the options are autotune, device, libraries and "
               "memory_limit_mib.",
               Quote(key));
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

void BackendOptions::ApplyTo(ModelOptions& options) const {
  if (autotune) options.tune = KernelAutotuner();
}

Result<BackendOptions> ReadRuntimeSpecs(Specs specs) {
  BackendOptions options = Defaults::Get();
  for (const BackendOption& spec : specs) SPIRLOOM_TRY(ReadOption(spec, options));
  return options;
}

Status SetDefaultOptions(Specs specs) {
  SPIRLOOM_TRY_ASSIGN(BackendOptions options, ReadRuntimeSpecs(specs));
  Defaults::Set(std::move(options));
  return Status();
}

}  // namespace spirloom::delegate
