#include "tests/support/fake_library/fake_library.h"

#include <array>
#include <cstring>
#include <vector>

#include "runtime/pack/capability.h"
#include "runtime/pack/shader_pack.h"
#include "spirloom/library.h"

namespace spirloom {
const ShaderLibrary& FakeShaders();
}

namespace spirloom::testing {
namespace {

// A copy of the pack in which the variant of int8 requires more capabilities than its shader uses.
std::vector<uint64_t> DemandingPack() {
  const std::span<const std::byte> original = FakeShaders().pack;
  std::vector<uint64_t> words((original.size() + 7) / 8);
  std::memcpy(words.data(), original.data(), original.size());
  auto* bytes = reinterpret_cast<std::byte*>(words.data());
  const auto& header = *reinterpret_cast<const pack::PackHeader*>(bytes);
  auto* rows = reinterpret_cast<pack::VariantRow*>(bytes + header.variants_offset);
  const char* names = reinterpret_cast<const char*>(bytes + header.strings_offset);
  for (pack::VariantRow& row : std::span(rows, header.variant_count)) {
    if (std::strcmp(names + row.name, "int8_f32_buffer") != 0) continue;
    row.needs = pack::CapabilityBit(pack::Capability::kStorageBuffer8Bit) |
                pack::CapabilityBit(pack::Capability::kShaderInt8);
    row.vulkan_minor = 2;
  }
  return words;
}

}  // namespace

const ops::OpIndex& FakeIndex() {
  static const std::vector<uint64_t> pack = DemandingPack();
  static const Result<ops::OpIndex> index = [] {
    const ShaderLibrary library{"fake",
                                std::as_bytes(std::span(pack)).first(FakeShaders().pack.size())};
    const std::array<const ShaderLibrary*, 1> libraries{&library};
    return ops::OpIndex::Create(libraries);
  }();
  return *index;
}

}  // namespace spirloom::testing
