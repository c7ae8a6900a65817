#include "compiler/manifest.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "compiler/capabilities.h"
#include "runtime/ops/capability.h"

namespace spirloom::compiler {
namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 3> kScalarTypes = {"int", "float", "bool"};
constexpr std::array<const char*, 3> kBindingTypes = {"storage_buffer", "sampled_image",
                                                      "storage_image"};
constexpr std::array<const char*, 3> kAccesses = {"read", "write", "readwrite"};

// Reads typed members out of JSON. The first error stays; after it every read returns a default.
class Reader {
 public:
  const Status& status() const { return status_; }
  void Fail(const std::string& message) {
    if (status_.ok()) status_ = Status(StatusCode::kInvalidFile, message);
  }

  const Json& Member(const Json& object, const char* name, const std::string& path) {
    static const Json kNull;
    if (!object.is_object()) {
      Fail((path.empty() ? "The document" : path) + " is not an object.");
      return kNull;
    }
    const auto found = object.find(name);
    if (found != object.end()) return *found;
    Fail(Join(path, name) + " is missing.");
    return kNull;
  }
  const Json& List(const Json& object, const char* name, const std::string& path,
                   size_t max_size = std::numeric_limits<size_t>::max()) {
    static const Json kEmpty = Json::array();
    const Json& list = Member(object, name, path);
    if (!list.is_array()) {
      Fail(Join(path, name) + " is not a list.");
      return kEmpty;
    }
    if (list.size() > max_size) {
      Fail(Join(path, name) + " has " + std::to_string(list.size()) + " elements; at most " +
           std::to_string(max_size) + " are possible.");
      return kEmpty;
    }
    return list;
  }
  std::string String(const Json& object, const char* name, const std::string& path) {
    const Json& value = Member(object, name, path);
    if (value.is_string()) return value.get<std::string>();
    Fail(Join(path, name) + " is not a string.");
    return std::string();
  }
  uint64_t Integer(const Json& value, const std::string& path, uint64_t min, uint64_t max) {
    // Negative numbers are not `unsigned` to this library.
    if (value.is_number_unsigned() && value.get<uint64_t>() >= min && value.get<uint64_t>() <= max)
      return value.get<uint64_t>();
    Fail(path + " is " + value.dump() + ", not an integer from " + std::to_string(min) + " to " +
         std::to_string(max) + ".");
    return min;
  }
  uint32_t Uint(const Json& object, const char* name, const std::string& path, uint32_t max) {
    return static_cast<uint32_t>(
        Integer(Member(object, name, path), Join(path, name), /*min=*/0, max));
  }
  bool Bool(const Json& object, const char* name, const std::string& path) {
    const Json& value = Member(object, name, path);
    if (value.is_boolean()) return value.get<bool>();
    Fail(Join(path, name) + " is not true or false.");
    return false;
  }
  // The index in `names` of a string member; only the first `count` are allowed.
  size_t OneOf(const Json& object, const char* name, const std::string& path,
               const std::array<const char*, 3>& names, size_t count = 3) {
    const std::string value = String(object, name, path);
    std::string list;
    for (size_t i = 0; i < count; ++i) {
      if (value == names[i]) return i;
      list += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    Fail(Join(path, name) + " is '" + value + "', not one of: " + list + ".");
    return 0;
  }
  static std::string Join(const std::string& path, const char* name) {
    return path.empty() ? name : path + "." + name;
  }

 private:
  Status status_;
};

std::string Element(const std::string& path, const char* list, size_t i) {
  return path + "." + list + "[" + std::to_string(i) + "]";
}

bool IsId(const std::string& id) {
  return !id.empty() && id.size() <= 200 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// A path that stays below the manifest's folder.
bool IsInside(const std::string& source) {
  const std::filesystem::path path(source);
  return !source.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
}

void ReadBindings(Reader& in, const Json& json, const std::string& path, Variant& variant) {
  const Json& list = in.List(json, "bindings", path, ops::kMaxBindings);
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = Element(path, "bindings", i);
    variant.bindings.push_back(
        {.name = in.String(list[i], "name", at),
         .type = static_cast<ops::BindingType>(in.OneOf(list[i], "type", at, kBindingTypes)),
         .access = static_cast<BindingAccess>(in.OneOf(list[i], "access", at, kAccesses)),
         .at = in.String(list[i], "at", at)});
  }
}

void ReadPush(Reader& in, const Json& json, const std::string& path, Variant& variant) {
  variant.push_bytes = in.Uint(json, "push_bytes", path, ops::kMaxPushBytes);
  const Json& list = in.List(json, "push", path, ops::kMaxPushBytes / 4);
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = Element(path, "push", i);
    const PushMember& member = variant.push.emplace_back(PushMember{
        .name = in.String(list[i], "name", at),
        .type = static_cast<ScalarType>(in.OneOf(list[i], "type", at, kScalarTypes, /*count=*/2)),
        .count = in.Uint(list[i], "count", at, ops::kMaxPushBytes / 4),
        .offset = in.Uint(list[i], "offset", at, ops::kMaxPushBytes),
        .at = in.String(list[i], "at", at)});
    const uint32_t end = member.offset + 4 * member.count;
    if (member.count == 0) in.Fail(at + ".count is 0.");
    if (end > variant.push_bytes) {
      in.Fail(at + " ends at byte " + std::to_string(end) + ", beyond push_bytes (" +
              std::to_string(variant.push_bytes) + ").");
    }
  }
}

void ReadConstants(Reader& in, const Json& json, const std::string& path, Variant& variant) {
  const Json& list = in.List(json, "constants", path, ops::kMaxConstants);
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = Element(path, "constants", i);
    const Constant& constant = variant.constants.emplace_back(
        Constant{.name = in.String(list[i], "name", at),
                 .id = in.Uint(list[i], "id", at, /*max=*/1023),
                 .type = static_cast<ScalarType>(in.OneOf(list[i], "type", at, kScalarTypes)),
                 .at = in.String(list[i], "at", at)});
    if (constant.id != i + 3) {
      in.Fail(at + ".id is " + std::to_string(constant.id) + ", not " + std::to_string(i + 3) +
              "; the ids run from 3 in order.");
    }
  }
}

void ReadWorkgroup(Reader& in, const Json& json, const std::string& path, Variant& variant) {
  const Json& list = in.List(json, "workgroup", path, /*max_size=*/3);
  if (list.size() != 3) return in.Fail(path + ".workgroup does not have 3 elements.");
  for (size_t i = 0; i < 3; ++i) {
    variant.workgroup[i] = static_cast<uint16_t>(
        in.Integer(list[i], Element(path, "workgroup", i), /*min=*/1, /*max=*/65535));
  }
}

void ReadNeeds(Reader& in, const Json& json, const std::string& path, Variant& variant) {
  const Json& list = in.List(json, "needs", path);
  for (size_t i = 0; i < list.size(); ++i) {
    const auto need = list[i].is_string() ? ParseNeed(list[i].get_ref<const std::string&>())
                                          : std::optional<ops::Capability>();
    if (!need) {
      in.Fail(Element(path, "needs", i) + " is " + list[i].dump() +
              ", not one of: " + NeedNames((uint64_t{1} << ops::kCapabilityCount) - 1) + ".");
      return;
    }
    variant.needs |= ops::CapabilityBit(*need);
  }
}

Variant ReadVariant(Reader& in, const Json& json, const std::string& path) {
  Variant variant;
  variant.id = in.String(json, "id", path);
  if (!IsId(variant.id))
    in.Fail(path + ".id is '" + variant.id + "', not a name of a-z, 0-9 and _.");
  variant.key = in.Integer(in.Member(json, "key", path), path + ".key", /*min=*/0,
                           std::numeric_limits<uint64_t>::max());
  variant.source = in.String(json, "source", path);
  if (!IsInside(variant.source)) {
    in.Fail(path + ".source is '" + variant.source + "', not a path below the manifest's folder.");
  }
  Result<Target> target = ParseTarget(in.String(json, "target", path));
  if (target.ok()) {
    variant.target = *target;
  } else {
    in.Fail(path + ".target: " + target.status().message());
  }
  variant.at = in.String(json, "at", path);
  variant.portable = in.Bool(json, "portable", path);
  ReadBindings(in, json, path, variant);
  ReadPush(in, json, path, variant);
  ReadConstants(in, json, path, variant);
  ReadWorkgroup(in, json, path, variant);
  ReadNeeds(in, json, path, variant);
  return variant;
}

void ReadDigest(Reader& in, const Json& json, Manifest& manifest) {
  const std::string text = in.String(json, "digest", "");
  const bool hex =
      text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex) return in.Fail("digest is '" + text + "', not 16 hexadecimal digits.");
  manifest.digest = std::stoull(text, nullptr, 16);
}

void CheckDistinct(Reader& in, const std::vector<Variant>& variants) {
  std::set<std::string_view> ids;
  for (size_t i = 0; i < variants.size(); ++i) {
    const std::string path = "variants[" + std::to_string(i) + "]";
    if (!ids.insert(variants[i].id).second)
      in.Fail(path + ".id '" + variants[i].id + "' occurs twice.");
    if (i > 0 && variants[i - 1].key >= variants[i].key) {
      in.Fail(path + ".key (" + std::to_string(variants[i].key) +
              ") is not greater than the one before (" + std::to_string(variants[i - 1].key) +
              ").");
    }
  }
}

}  // namespace

Result<Manifest> ParseManifest(std::string_view text) {
  const Json json = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Status(StatusCode::kInvalidFile, "The manifest is not JSON.");
  Reader in;
  Manifest manifest;
  in.Integer(in.Member(json, "version", ""), "version", /*min=*/1, /*max=*/1);
  manifest.library = in.String(json, "library", "");
  ReadDigest(in, json, manifest);
  const Json& variants = in.List(json, "variants", "");
  manifest.variants.reserve(variants.size());
  for (size_t i = 0; i < variants.size() && in.status().ok(); ++i) {
    manifest.variants.push_back(
        ReadVariant(in, variants[i], "variants[" + std::to_string(i) + "]"));
  }
  CheckDistinct(in, manifest.variants);
  if (!in.status().ok()) return in.status();
  return manifest;
}

const char* ScalarTypeName(ScalarType type) { return kScalarTypes[static_cast<size_t>(type)]; }
const char* BindingTypeName(ops::BindingType type) {
  return kBindingTypes[static_cast<size_t>(type)];
}
const char* BindingAccessName(BindingAccess access) {
  return kAccesses[static_cast<size_t>(access)];
}

}  // namespace spirloom::compiler
