#include "compiler/pack/pack_writer.h"

#include <xxhash.h>

#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "compiler/checks/check.h"
#include "compiler/checks/reflect.h"
#include "compiler/pack/workgroup_size.h"
#include "compiler/pack/zstd_encoder.h"
#include "runtime/base/parallel_for.h"
#include "runtime/pack/image_types.h"
#include "runtime/pack/pack_format.h"

namespace spirloom::compiler {
namespace {

static_assert(std::endian::native == std::endian::little, "Tables are written as raw bytes.");

std::string_view BytesOf(const std::vector<uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)};
}

void AlignTo(std::string& bytes, size_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0');
}

template <typename Row>
size_t AppendTable(std::string& pack, const std::vector<Row>& rows) {
  AlignTo(pack, pack::kPackAlignment);
  const size_t offset = pack.size();
  pack.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row));
  return offset;
}

// For words that are not SPIR-V, returns conservative defaults.
Reflection ReflectionOf(const std::vector<uint32_t>& words) {
  Result<Reflection> reflection = Reflect(words);
  if (reflection.ok()) return std::move(reflection).value();
  Reflection unknown;
  unknown.depends_on_workgroup = true;
  return unknown;
}

// Whether the runtime may choose another workgroup size along x.
bool AnyLanes(const Variant& variant, const Reflection& reflection) {
  return variant.workgroup[1] == 1 && variant.workgroup[2] == 1 && !reflection.depends_on_workgroup;
}

pack::VariantRow RowOf(const PackedVariant& packed, size_t name, size_t module) {
  const Variant& variant = *packed.variant;
  const Reflection reflection = ReflectionOf(packed.words);
  pack::VariantRow row = {};
  row.key = variant.key;
  row.needs = NeedsOf(variant, reflection);
  row.name = static_cast<uint32_t>(name);
  row.module = static_cast<uint32_t>(module);
  for (size_t i = 0; i < 3; ++i) row.workgroup[i] = variant.workgroup[i];
  row.push_bytes = static_cast<uint16_t>(variant.push_bytes);
  row.binding_count = static_cast<uint8_t>(variant.bindings.size());
  row.constant_count = static_cast<uint8_t>(variant.constants.size());
  row.vulkan_minor = VulkanMinor(variant.target);
  row.any_workgroup_size = AnyLanes(variant, reflection) ? 1 : 0;
  for (size_t i = 0; i < variant.bindings.size(); ++i)
    row.bindings[i] = static_cast<uint8_t>(variant.bindings[i].type);
  return row;
}

// The module with a cleared workgroup size, and with 3-D images if pack::SetImageTypes() can
// restore the original.
std::vector<uint32_t> StoredForm(const PackedVariant& packed) {
  std::vector<pack::BindingType> types;
  std::vector<pack::BindingType> types_3d;
  for (const Binding& binding : packed.variant->bindings) {
    types.push_back(binding.type);
    types_3d.push_back(pack::As3D(binding.type));
  }
  std::vector<uint32_t> module = packed.words;
  ClearWorkgroupSize(module);
  std::vector<uint32_t> stored = module;
  pack::SetImageTypes(stored, types_3d);
  std::vector<uint32_t> restored = stored;
  pack::SetImageTypes(restored, types);
  return restored == module ? stored : module;
}

// The tables, and the modules in the order of their rows. Module offsets are relative to the first
// module.
struct Tables {
  std::vector<pack::VariantRow> variants;
  std::vector<pack::ModuleRow> modules;
  std::string strings;
  std::string code;
};

// A module as stored in the pack, and its row without the offset.
struct EncodedModule {
  pack::ModuleRow row = {};
  std::string bytes;
};

EncodedModule Encode(const std::vector<uint32_t>& words, bool compress) {
  const std::string_view raw = BytesOf(words);
  EncodedModule module;
  module.row.raw_size = static_cast<uint32_t>(raw.size());
  module.row.digest = XXH64(raw.data(), raw.size(), /*seed=*/0);
  if (compress && raw.size() <= pack::kMaxCompressedBytes) module.bytes = CompressZstd(raw);
  if (module.bytes.empty() || module.bytes.size() >= raw.size()) {
    module.bytes = raw;
  } else {
    module.row.codec = static_cast<uint32_t>(pack::Codec::kZstd);
  }
  module.row.size = static_cast<uint32_t>(module.bytes.size());
  return module;
}

void AppendModules(Tables& tables, const std::vector<const std::vector<uint32_t>*>& distinct,
                   const PackOptions& options) {
  std::vector<EncodedModule> modules(distinct.size());
  ParallelFor(distinct.size(), options.threads, [&](size_t i, size_t /*thread*/) {
    modules[i] = Encode(*distinct[i], options.compress);
  });
  for (EncodedModule& module : modules) {
    AlignTo(tables.code, sizeof(uint32_t));
    module.row.offset = tables.code.size();
    tables.modules.push_back(module.row);
    tables.code += module.bytes;
  }
}

Tables MakeTables(const std::vector<PackedVariant>& variants, const PackOptions& options) {
  Tables tables;
  std::map<std::vector<uint32_t>, size_t> module_of;
  std::vector<const std::vector<uint32_t>*> distinct;
  for (const PackedVariant& packed : variants) {
    const auto [found, is_new] = module_of.emplace(StoredForm(packed), distinct.size());
    if (is_new) distinct.push_back(&found->first);
    tables.variants.push_back(RowOf(packed, tables.strings.size(), found->second));
    tables.strings += packed.variant->id;
    tables.strings += '\0';
  }
  AppendModules(tables, distinct, options);
  return tables;
}

}  // namespace

Result<Pack> WritePack(std::string_view registry, const std::vector<PackedVariant>& variants,
                       const PackOptions& options) {
  if (options.compress && !HasZstd()) {
    return Status(StatusCode::kUnsupported,
                  "This build cannot compress shader packs. Build with SPIRLOOM_ZSTD=ON.");
  }
  Tables tables = MakeTables(variants, options);
  Pack pack;
  pack.module_count = tables.modules.size();
  std::string& bytes = pack.bytes;
  bytes.resize(sizeof(pack::PackHeader));
  pack::PackHeader header = {};
  header.magic = pack::kPackMagic;
  header.version = pack::kPackVersion;
  header.variant_count = static_cast<uint32_t>(tables.variants.size());
  header.module_count = static_cast<uint32_t>(tables.modules.size());
  header.variants_offset = static_cast<uint32_t>(AppendTable(bytes, tables.variants));
  // Placeholder rows, replaced when the offset of the modules is known.
  const size_t modules_offset = AppendTable(bytes, tables.modules);
  AlignTo(bytes, pack::kPackAlignment);
  const size_t strings_offset = bytes.size();
  bytes += tables.strings;
  AlignTo(bytes, pack::kPackAlignment);
  const size_t registry_offset = bytes.size();
  bytes += registry;
  AlignTo(bytes, pack::kPackAlignment);
  for (pack::ModuleRow& row : tables.modules) row.offset += bytes.size();
  if (bytes.size() > std::numeric_limits<uint32_t>::max())
    return Status(StatusCode::kUnsupported, "The tables of the shader pack exceed 4 GiB.");
  header.modules_offset = static_cast<uint32_t>(modules_offset);
  header.strings_offset = static_cast<uint32_t>(strings_offset);
  header.registry_offset = static_cast<uint32_t>(registry_offset);
  header.registry_size = static_cast<uint32_t>(registry.size());
  header.strings_size = static_cast<uint32_t>(tables.strings.size());
  for (size_t i = 0; i < tables.modules.size(); ++i) {
    std::memcpy(bytes.data() + modules_offset + i * sizeof(pack::ModuleRow), &tables.modules[i],
                sizeof(pack::ModuleRow));
  }
  bytes += tables.code;
  header.size = bytes.size();
  header.content_digest =
      XXH64(bytes.data() + sizeof(header), bytes.size() - sizeof(header), /*seed=*/0);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return pack;
}

}  // namespace spirloom::compiler
