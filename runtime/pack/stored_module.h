// Modules as stored in packs and as passed to drivers.
#ifndef SPIRLOOM_RUNTIME_PACK_STORED_MODULE_H_
#define SPIRLOOM_RUNTIME_PACK_STORED_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/pack/pack_format.h"
#include "spirloom/status.h"

namespace spirloom::pack {

// The maximum SPIR-V version of Vulkan 1.`vulkan_minor` (1, 2 or 3) in the encoding of a module's
// header, and such a version as text, e.g. "1.3".
uint32_t MaxSpirvVersion(uint32_t vulkan_minor);
std::string SpirvVersionText(uint32_t version);

// A module in a pack. Refers to the pack's bytes.
struct StoredModule {
  static StoredModule Raw(std::span<const uint32_t> words) {
    return {.bytes = std::as_bytes(words), .raw_size = static_cast<uint32_t>(words.size_bytes())};
  }

  std::span<const std::byte> bytes = {};
  uint32_t raw_size = 0;  // bytes of SPIR-V: a multiple of 4; the size of `bytes` if stored raw
  Codec codec = Codec::kRaw;
  uint32_t max_spirv_version = UINT32_MAX;  // in the encoding of a module's header
};

// Returns the module as passed to drivers: decompressed, with the image types of `bindings`.
// Decompresses in each call; thread-safe. Fails with kInvalidFile if a compressed module is
// damaged, not SPIR-V, or of a newer version than max_spirv_version.
Result<std::vector<uint32_t>> ReadModule(const StoredModule& module,
                                         std::span<const BindingType> bindings);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_STORED_MODULE_H_
