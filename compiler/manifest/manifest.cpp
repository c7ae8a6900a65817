#include "compiler/manifest/manifest.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "compiler/base/capabilities.h"
#include "compiler/manifest/json_reader.h"
#include "runtime/pack/capability.h"

namespace spirloom::compiler {
namespace {

constexpr std::array<const char*, 3> kScalarTypes = {"int", "float", "bool"};
constexpr std::array<const char*, pack::kBindingTypeCount> kBindingTypes = {
    "storage_buffer", "sampled_image_3d", "storage_image_3d", "sampled_image_2d_array",
    "storage_image_2d_array"};
constexpr std::array<const char*, 3> kAccesses = {"read", "write", "readwrite"};

std::string Element(const std::string& path, const char* list, size_t i) {
  return path + "." + list + "[" + std::to_string(i) + "]";
}

bool IsId(const std::string& id) {
  return !id.empty() && id.size() <= 200 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Whether the path is below the directory of the manifest.
bool IsInside(const std::string& source) {
  const std::filesystem::path path(source);
  return !source.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
}

void ReadBindings(JsonReader& in, const nlohmann::json& json, const std::string& path,
                  Variant& variant) {
  const nlohmann::json& list = in.List(json, "bindings", path, pack::kMaxBindings);
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = Element(path, "bindings", i);
    variant.bindings.push_back(
        {.name = in.String(list[i], "name", at),
         .type = static_cast<pack::BindingType>(in.OneOf(list[i], "type", at, kBindingTypes)),
         .access = static_cast<BindingAccess>(in.OneOf(list[i], "access", at, kAccesses)),
         .at = in.String(list[i], "at", at)});
  }
}

void ReadPush(JsonReader& in, const nlohmann::json& json, const std::string& path,
              Variant& variant) {
  variant.push_bytes = in.Uint(json, "push_bytes", path, pack::kMaxPushBytes);
  const nlohmann::json& list = in.List(json, "push", path, pack::kMaxPushBytes / 4);
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = Element(path, "push", i);
    const PushMember& member = variant.push.emplace_back(
        PushMember{.name = in.String(list[i], "name", at),
                   .type = static_cast<ScalarType>(
                       in.OneOf(list[i], "type", at, std::span(kScalarTypes).first(2))),
                   .count = in.Uint(list[i], "count", at, pack::kMaxPushBytes / 4),
                   .offset = in.Uint(list[i], "offset", at, pack::kMaxPushBytes),
                   .at = in.String(list[i], "at", at)});
    const uint32_t end = member.offset + 4 * member.count;
    if (member.count == 0) in.Fail(at + ".count is 0.");
    if (end > variant.push_bytes) {
      in.Fail(at + " ends at byte " + std::to_string(end) + ", beyond push_bytes (" +
              std::to_string(variant.push_bytes) + ").");
    }
  }
}

void ReadConstants(JsonReader& in, const nlohmann::json& json, const std::string& path,
                   Variant& variant) {
  const nlohmann::json& list = in.List(json, "constants", path, pack::kMaxConstants);
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

void ReadWorkgroup(JsonReader& in, const nlohmann::json& json, const std::string& path,
                   Variant& variant) {
  const nlohmann::json& list = in.List(json, "workgroup", path, /*max_size=*/3);
  if (list.size() != 3) return in.Fail(path + ".workgroup does not have 3 elements.");
  for (size_t i = 0; i < 3; ++i) {
    variant.workgroup[i] = static_cast<uint16_t>(
        in.Integer(list[i], Element(path, "workgroup", i), /*min=*/1, /*max=*/65535));
  }
}

uint64_t ReadNeeds(JsonReader& in, const nlohmann::json& json, const char* name,
                   const std::string& path) {
  const nlohmann::json& list = in.List(json, name, path);
  uint64_t needs = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const auto need = list[i].is_string() ? ParseNeed(list[i].get_ref<const std::string&>())
                                          : std::optional<pack::Capability>();
    if (!need) {
      in.Fail(Element(path, name, i) + " is " + JsonReader::Describe(list[i]) +
              ", not one of: " + NeedNames((uint64_t{1} << pack::kCapabilityCount) - 1) + ".");
      return 0;
    }
    needs |= pack::CapabilityBit(*need);
  }
  return needs;
}

Variant ReadVariant(JsonReader& in, const nlohmann::json& json, const std::string& path) {
  Variant variant;
  variant.id = in.String(json, "id", path);
  if (!IsId(variant.id))
    in.Fail(path + ".id is '" + variant.id + "', not a name of a-z, 0-9 and _.");
  variant.key = in.Integer(in.Member(json, "key", path), path + ".key", /*min=*/0,
                           std::numeric_limits<uint64_t>::max());
  variant.source = in.String(json, "source", path);
  if (!IsInside(variant.source)) {
    in.Fail(path + ".source is '" + variant.source +
            "', not a path below the directory of the manifest.");
  }
  Result<Target> target = ParseTarget(in.String(json, "target", path));
  if (target.ok()) {
    variant.target = *target;
  } else {
    in.Fail(path + ".target: " + target.status().message());
  }
  variant.at = in.String(json, "at", path);
  variant.loop_iterations = in.Bool(json, "loop_iterations", path);
  variant.portable = in.Bool(json, "portable", path);
  ReadBindings(in, json, path, variant);
  ReadPush(in, json, path, variant);
  ReadConstants(in, json, path, variant);
  ReadWorkgroup(in, json, path, variant);
  variant.needs = ReadNeeds(in, json, "needs", path);
  variant.may_need = ReadNeeds(in, json, "may_need", path);
  return variant;
}

void CheckDistinct(JsonReader& in, const std::vector<Variant>& variants) {
  std::set<std::string_view> ids;
  for (size_t i = 0; i < variants.size(); ++i) {
    const std::string path = "variants[" + std::to_string(i) + "]";
    if (!ids.insert(variants[i].id).second)
      in.Fail(path + ".id '" + variants[i].id + "' occurs twice.");
    if (i > 0 && variants[i - 1].key >= variants[i].key) {
      in.Fail(path + ".key is " + std::to_string(variants[i].key) +
              "; it must be above the previous key, " + std::to_string(variants[i - 1].key) + ".");
    }
  }
}

}  // namespace

Result<Manifest> ParseManifest(std::string_view text) {
  const nlohmann::json json =
      nlohmann::json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Status(StatusCode::kInvalidFile, "The manifest is not valid JSON.");
  JsonReader in;
  Manifest manifest;
  in.Integer(in.Member(json, "version", ""), "version", /*min=*/3, /*max=*/3);
  manifest.library = in.String(json, "library", "");
  manifest.registry = in.String(json, "registry", "");
  if (!IsInside(manifest.registry)) {
    in.Fail("registry is '" + manifest.registry +
            "', not a path below the directory of the manifest.");
  }
  const nlohmann::json& variants = in.List(json, "variants", "");
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
const char* BindingTypeName(pack::BindingType type) {
  return kBindingTypes[static_cast<size_t>(type)];
}
const char* BindingAccessName(BindingAccess access) {
  return kAccesses[static_cast<size_t>(access)];
}

}  // namespace spirloom::compiler
