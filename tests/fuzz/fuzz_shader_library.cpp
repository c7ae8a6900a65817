// Opens arbitrary bytes as a shader library; whatever is accepted must be safe to use.
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/ops/op_index.h"
#include "runtime/pack/image_types.h"
#include "runtime/pack/spirv_words.h"
#include "runtime/pack/texel_reads.h"
#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/library_calls.h"

namespace {

using namespace spirloom::fuzz;  // NOLINT: all of it is about fuzzing
using namespace spirloom::pack;  // NOLINT: and about packs
using spirloom::ops::OpIndex;

// Small files of a few hundred rows may use one large module in each.
constexpr size_t kMostModules = 64;

void ReadModules(const ShaderPack& pack) {
  size_t read = 0;
  for (const VariantRow& row : pack.variants()) {
    Require(pack.Name(row).data() != nullptr, "a variant has a name");
    Require(pack.Find(row.key) == &row, "a variant is found by its key");
    if (++read > kMostModules) continue;
    auto spirv = pack.ReadSpirv(row);
    Require(spirv.ok() ? (*spirv)[0] == spirv::kMagic : !spirv.status().message().empty(),
            "a module is SPIR-V, or an error says what it is");
    if (!spirv.ok()) continue;
    Require(ReadAsTexels(*spirv, BindingTypesOf(row)).size() == row.binding_count,
            "every binding has a type");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const AlignedCopy copy(BytesOf(data, size));
  const auto checked = ShaderPack::Open(copy.bytes(), PackCheck::kContent);
  static Tally whole("packs of which the digest is right");
  whole.Count(checked.ok());
  const spirloom::ShaderLibrary library{.name = "fuzzed", .pack = copy.bytes()};
  const std::array<const spirloom::ShaderLibrary*, 1> libraries = {&library};
  const auto index = OpIndex::Create(libraries);
  static Tally read("libraries opened");
  read.Count(index.ok());
  if (!index.ok()) {
    Require(!index.status().message().empty(), "an error says what it is");
    return 0;
  }
  ReadModules(index->libraries()[0].pack);
  EvaluateFormulas(*index);
  LowerCalls(*index);
  return 0;
}

namespace {

// The part of the pack that the header says begins at `offset`; a quarter of them are anywhere.
std::span<uint8_t> PartOf(std::span<uint8_t> pack, unsigned int choice) {
  PackHeader header{};
  std::memcpy(&header, pack.data(), sizeof(header));
  const std::array<std::pair<uint64_t, uint64_t>, 5> parts = {{
      {0, sizeof(header)},
      {header.variants_offset, header.variant_count * sizeof(VariantRow)},
      {header.modules_offset, header.module_count * sizeof(ModuleRow)},
      {header.strings_offset, header.strings_size},
      {header.registry_offset, header.registry_size},
  }};
  const auto& [offset, size] = parts[std::min<size_t>(choice % 8, parts.size() - 1)];
  if (offset >= pack.size()) return pack;
  return pack.subspan(offset, std::min<uint64_t>(size, pack.size() - offset));
}

}  // namespace

// Changes one part, the registry above all, and mostly keeps size and digest right.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  if (size < sizeof(PackHeader) || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::span<uint8_t> part = PartOf({data, size}, seed / 16);
  if (!part.empty()) LLVMFuzzerMutate(part.data(), part.size(), part.size());
  if (seed % 16 == 1) return size;
  PackHeader header{};
  std::memcpy(&header, data, sizeof(header));
  header.size = size;
  header.content_digest = XXH64(data + sizeof(header), size - sizeof(header), /*seed=*/0);
  std::memcpy(data, &header, sizeof(header));
  return size;
}
