// Opens arbitrary bytes as a shader library. Accepted libraries must be safe to use.
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

using namespace spirloom::fuzz;  // NOLINT: all functions are of
using namespace spirloom::pack;  // NOLINT: these namespaces
using spirloom::ops::OpIndex;

// Limit of read modules: hundreds of rows of a small file may refer to one large module.
constexpr size_t kMaxModules = 64;

void ReadModules(const ShaderPack& pack) {
  size_t read = 0;
  for (const VariantRow& row : pack.variants()) {
    Require(pack.Name(row).data() != nullptr, "a variant has a name");
    Require(pack.Find(row.key) == &row, "a variant is found by its key");
    if (++read > kMaxModules) continue;
    auto spirv = pack.ReadSpirv(row);
    Require(spirv.ok() ? (*spirv)[0] == spirv::kMagic : !spirv.status().message().empty(),
            "a module is SPIR-V, or there is an error message");
    if (!spirv.ok()) continue;
    Require(ReadAsTexels(*spirv, BindingTypesOf(row)).size() == row.binding_count,
            "every binding has a type");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const AlignedCopy copy(BytesOf(data, size));
  const auto checked = ShaderPack::Open(copy.bytes(), PackCheck::kContent);
  static Tally intact("packs with a correct digest");
  intact.Count(checked.ok());
  const spirloom::ShaderLibrary library{.name = "fuzzed", .pack = copy.bytes()};
  const std::array<const spirloom::ShaderLibrary*, 1> libraries = {&library};
  const auto index = OpIndex::Create(libraries);
  static Tally read("libraries opened");
  read.Count(index.ok());
  if (!index.ok()) {
    Require(!index.status().message().empty(), "an error has a message");
    return 0;
  }
  ReadModules(index->libraries()[0].pack);
  EvaluateFormulas(*index);
  LowerCalls(*index);
  return 0;
}

namespace {

// A section of the pack, selected by `choice`; the registry half the time.
std::span<uint8_t> SectionOf(std::span<uint8_t> pack, unsigned int choice) {
  PackHeader header{};
  std::memcpy(&header, pack.data(), sizeof(header));
  const std::array<std::pair<uint64_t, uint64_t>, 5> sections = {{
      {0, sizeof(header)},
      {header.variants_offset, header.variant_count * sizeof(VariantRow)},
      {header.modules_offset, header.module_count * sizeof(ModuleRow)},
      {header.strings_offset, header.strings_size},
      {header.registry_offset, header.registry_size},
  }};
  const auto& [offset, size] = sections[std::min<size_t>(choice % 8, sections.size() - 1)];
  if (offset >= pack.size()) return pack;
  return pack.subspan(offset, std::min<uint64_t>(size, pack.size() - offset));
}

}  // namespace

// Mutates one section, most often the registry, and usually corrects size and digest.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  if (size < sizeof(PackHeader) || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::span<uint8_t> section = SectionOf({data, size}, seed / 16);
  if (!section.empty()) LLVMFuzzerMutate(section.data(), section.size(), section.size());
  if (seed % 16 == 1) return size;
  PackHeader header{};
  std::memcpy(&header, data, sizeof(header));
  header.size = size;
  header.content_digest = XXH64(data + sizeof(header), size - sizeof(header), /*seed=*/0);
  std::memcpy(data, &header, sizeof(header));
  return size;
}
