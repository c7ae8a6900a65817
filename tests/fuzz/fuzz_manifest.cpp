// Reads arbitrary bytes as the shader compiler's manifest.json.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "compiler/manifest.h"
#include "tests/fuzz/fuzzing.h"

namespace {

using spirloom::compiler::Manifest;
using spirloom::compiler::Variant;
using spirloom::fuzz::Require;

void CheckVariant(const Variant& variant) {
  Require(variant.id.find_first_of("/\\.") == std::string::npos, "an id is a file's name");
  Require(!variant.source.empty() && variant.source[0] != '/', "sources are relative");
  Require(variant.bindings.size() <= spirloom::pack::kMaxBindings, "bindings fit a pack");
  Require(variant.constants.size() <= spirloom::pack::kMaxConstants, "constants fit a pack");
  Require(variant.push_bytes <= spirloom::pack::kMaxPushBytes, "push constants fit a device");
  for (const auto& binding : variant.bindings) {
    Require(static_cast<uint8_t>(binding.type) < spirloom::pack::kBindingTypeCount,
            "a binding is of a type that packs have");
  }
}

void CheckManifest(const Manifest& manifest) {
  std::set<std::string_view> ids;
  for (const Variant& variant : manifest.variants) {
    CheckVariant(variant);
    Require(ids.insert(variant.id).second, "ids are distinct");
  }
  Require(std::ranges::is_sorted(manifest.variants, {}, &Variant::key), "variants are in order");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = spirloom::compiler::ParseManifest(text);
  if (manifest.ok()) {
    CheckManifest(*manifest);
  } else {
    Require(!manifest.status().message().empty(), "an error says what it is");
  }
  return 0;
}
