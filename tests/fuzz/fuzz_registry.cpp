// Reads arbitrary bytes as the registry of a pack without variants, and evaluates its formulas.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/ops/op_index.h"
#include "runtime/pack/pack_format.h"
#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/library_calls.h"

namespace {

using spirloom::fuzz::Require;
using spirloom::pack::PackHeader;

std::vector<std::byte> PackOf(std::span<const std::byte> registry) {
  PackHeader header{};
  header.magic = spirloom::pack::kPackMagic;
  header.version = spirloom::pack::kPackVersion;
  header.size = sizeof(header) + registry.size();
  header.variants_offset = header.modules_offset = header.strings_offset = sizeof(header);
  header.registry_offset = sizeof(header);
  header.registry_size = static_cast<uint32_t>(registry.size());
  std::vector<std::byte> pack(header.size);
  std::memcpy(pack.data(), &header, sizeof(header));
  if (!registry.empty()) std::memcpy(&pack[sizeof(header)], registry.data(), registry.size());
  return pack;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::byte> pack = PackOf(spirloom::fuzz::BytesOf(data, size));
  const spirloom::ShaderLibrary library{.name = "fuzzed", .pack = pack};
  const std::array<const spirloom::ShaderLibrary*, 1> libraries = {&library};
  const auto index = spirloom::ops::OpIndex::Create(libraries);
  static spirloom::fuzz::Tally read("registries read");
  read.Count(index.ok());
  if (index.ok()) {
    spirloom::fuzz::EvaluateFormulas(*index);
  } else {
    Require(!index.status().message().empty(), "an error has a message");
  }
  return 0;
}
