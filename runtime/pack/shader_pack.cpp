#include "runtime/pack/shader_pack.h"

#include <xxhash.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/pack/image_types.h"

namespace spirloom::pack {

Result<ShaderPack> ShaderPack::Open(std::span<const std::byte> bytes, PackCheck check) {
  ShaderPack pack;
  pack.bytes_ = bytes;
  pack.header_ = reinterpret_cast<const PackHeader*>(bytes.data());
  SPIRLOOM_TRY(pack.CheckHeader());
  const PackHeader& header = *pack.header_;
  pack.variants_ = {reinterpret_cast<const VariantRow*>(bytes.data() + header.variants_offset),
                    header.variant_count};
  pack.modules_ = {reinterpret_cast<const ModuleRow*>(bytes.data() + header.modules_offset),
                   header.module_count};
  pack.strings_ = {reinterpret_cast<const char*>(bytes.data() + header.strings_offset),
                   header.strings_size};
  if (check == PackCheck::kContent) {
    const uint64_t digest =
        XXH64(bytes.data() + sizeof(PackHeader), bytes.size() - sizeof(PackHeader), /*seed=*/0);
    if (digest != header.content_digest) {
      return InvalidFile("The shader pack's bytes do not match its content digest: it is damaged.");
    }
  }
  SPIRLOOM_TRY(pack.CheckModules());
  SPIRLOOM_TRY(pack.CheckVariants());
  return pack;
}

const VariantRow* ShaderPack::Find(uint64_t key) const {
  const auto row = std::ranges::lower_bound(variants_, key, {}, &VariantRow::key);
  return row != variants_.end() && row->key == key ? &*row : nullptr;
}

std::string_view ShaderPack::Name(const VariantRow& row) const {
  return strings_.data() + row.name;
}

StoredModule ShaderPack::Module(const VariantRow& row) const {
  const ModuleRow& module = modules_[row.module];
  return {.bytes = bytes_.subspan(static_cast<size_t>(module.offset), module.size),
          .raw_size = module.raw_size,
          .codec = static_cast<Codec>(module.codec),
          .max_spirv_version = MaxSpirvVersion(row.vulkan_minor)};
}

Result<std::vector<uint32_t>> ShaderPack::ReadSpirv(const VariantRow& row) const {
  auto words = ReadModule(Module(row), BindingTypesOf(row));
  if (words.ok()) return words;
  return While(std::move(words).status(), "reading the module of {}", Name(row));
}

std::span<const uint32_t> ShaderPack::RawWords(const ModuleRow& row) const {
  return {reinterpret_cast<const uint32_t*>(bytes_.data() + row.offset), row.size / 4};
}

}  // namespace spirloom::pack
