// Reads arbitrary bytes as the shader compiler's manifest.json.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/manifest/manifest.h"
#include "tests/fuzz/fuzzing.h"

namespace {

using spirloom::compiler::Manifest;
using spirloom::compiler::Variant;
using spirloom::fuzz::Require;

void CheckVariant(const Variant& variant) {
  Require(variant.id.find_first_of("/\\.") == std::string::npos, "an id is a valid file name");
  Require(!variant.source.empty() && variant.source[0] != '/', "sources are relative");
  Require(variant.bindings.size() <= spirloom::pack::kMaxBindings, "bindings fit a pack");
  Require(variant.constants.size() <= spirloom::pack::kMaxConstants, "constants fit a pack");
  Require(variant.push_bytes <= spirloom::pack::kMaxPushBytes, "push constants fit a device");
  for (const auto& binding : variant.bindings) {
    Require(static_cast<uint8_t>(binding.type) < spirloom::pack::kBindingTypeCount,
            "a binding has a known type");
  }
}

void CheckManifest(const Manifest& manifest) {
  std::set<std::string_view> ids;
  for (const Variant& variant : manifest.variants) {
    CheckVariant(variant);
    Require(ids.insert(variant.id).second, "ids are distinct");
  }
  Require(std::ranges::is_sorted(manifest.variants, {}, &Variant::key), "variants are sorted");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = spirloom::compiler::ParseManifest(text);
  static spirloom::fuzz::Tally read("manifests read");
  read.Count(manifest.ok());
  if (manifest.ok()) {
    CheckManifest(*manifest);
  } else {
    Require(!manifest.status().message().empty(), "an error has a message");
  }
  return 0;
}

namespace {

using Json = nlohmann::json;

// Collects every value of a document, parents before children.
void Collect(Json& json, std::vector<Json*>& values) {
  values.push_back(&json);
  for (Json& element : json) {
    if (json.is_structured()) Collect(element, values);
  }
}

void ChangeValue(Json& json, const std::vector<Json*>& values, std::mt19937& random) {
  switch (random() % 6) {
    case 0:
      if (json.is_structured() && !json.empty()) {
        json.erase(std::next(json.begin(), static_cast<std::ptrdiff_t>(random() % json.size())));
      }
      return;
    case 1:  // duplicate an element
      if (json.is_array() && !json.empty()) json.push_back(Json(json[random() % json.size()]));
      return;
    case 2:  // copy another value of the document
      if (!json.is_structured()) json = Json(*values[random() % values.size()]);
      return;
    case 3:
      if (json.is_number()) json = static_cast<int64_t>(random() % 40) - 4;
      return;
    case 4:
      if (json.is_string()) json = json.get<std::string>() + static_cast<char>('a' + random() % 4);
      return;
    default:
      if (json.is_number()) json = json.get<double>() * 65536 + 1;
  }
}

}  // namespace

// Mutates the document structurally; sometimes its bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::mt19937 random(seed);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Json json = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (auto changes = 1 + random() % 3; changes > 0; --changes) {
    std::vector<Json*> values;
    Collect(json, values);
    ChangeValue(*values[random() % values.size()], values, random);
  }
  const std::string changed =
      json.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  if (changed.size() > max_size) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
