// Modules as packs store them, and as drivers get them.
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

// The newest SPIR-V that Vulkan 1.`vulkan_minor` (1, 2 or 3) takes, as a module's second word has
// it; and such a version in words, e.g. "1.3".
uint32_t NewestSpirv(uint32_t vulkan_minor);
std::string SpirvVersionText(uint32_t version);

// A module in a pack. Refers to the pack's bytes.
struct StoredModule {
  static StoredModule Raw(std::span<const uint32_t> words) {
    return {.bytes = std::as_bytes(words), .raw_size = static_cast<uint32_t>(words.size_bytes())};
  }

  std::span<const std::byte> bytes = {};
  uint32_t raw_size = 0;  // bytes of SPIR-V: a multiple of 4; those of `bytes` when stored raw
  Codec codec = Codec::kRaw;
  uint32_t newest_spirv = UINT32_MAX;  // the version it may have, as a module's second word has it
};

// The SPIR-V as drivers get it: decompressed, and with the images that `bindings` say. Decompresses
// anew in each call; thread-safe. Fails with kInvalidFile when a compressed module is damaged or no
// SPIR-V of such a version.
Result<std::vector<uint32_t>> ReadModule(const StoredModule& module,
                                         std::span<const BindingType> bindings);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_STORED_MODULE_H_
