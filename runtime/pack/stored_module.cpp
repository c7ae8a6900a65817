#include "runtime/pack/stored_module.h"

#include <algorithm>
#include <array>

#include "runtime/base/error.h"
#include "runtime/pack/image_types.h"
#include "runtime/pack/spirv_words.h"
#include "runtime/pack/zstd_decoder.h"

namespace spirloom::pack {
namespace {

// The checks of raw modules by ShaderPack::Open(), for a decompressed module.
Status CheckDecompressed(std::span<const uint32_t> words, const StoredModule& module) {
  if (words[0] != spirv::kMagic) {
    return InvalidFile("A compressed module of a shader pack is not SPIR-V.");
  }
  if (words[1] <= module.max_spirv_version) return {};
  return InvalidFile(
      "A compressed module is SPIR-V {}; the Vulkan version of its variant supports up to {}.",
      SpirvVersionText(words[1]), SpirvVersionText(module.max_spirv_version));
}

}  // namespace

uint32_t MaxSpirvVersion(uint32_t vulkan_minor) {
  constexpr std::array<uint32_t, 3> kVersions = {0x00010300, 0x00010500, 0x00010600};
  return kVersions[vulkan_minor - kMinVulkanMinor];
}

std::string SpirvVersionText(uint32_t version) {
  return Concat(version >> 16 & 0xff, ".", version >> 8 & 0xff);
}

Result<std::vector<uint32_t>> ReadModule(const StoredModule& module,
                                         std::span<const BindingType> bindings) {
  std::vector<uint32_t> words(module.raw_size / sizeof(uint32_t));
  if (module.codec == Codec::kZstd) {
    SPIRLOOM_TRY(DecompressZstd(module.bytes, std::as_writable_bytes(std::span(words))));
    SPIRLOOM_TRY(CheckDecompressed(words, module));
  } else {
    std::ranges::copy(module.bytes, std::as_writable_bytes(std::span(words)).begin());
  }
  if (HasLayeredImages(bindings)) SetImageTypes(words, bindings);
  return words;
}

}  // namespace spirloom::pack
