// Validation of shader packs by ShaderPack::Open(), so that accessors stay within the bytes.
#include <algorithm>
#include <string>

#include "runtime/base/error.h"
#include "runtime/pack/shader_pack.h"
#include "runtime/pack/spirv_words.h"
#include "runtime/pack/zstd_decoder.h"

namespace spirloom::pack {
namespace {

bool IsRaw(const ModuleRow& row) { return row.codec == static_cast<uint32_t>(Codec::kRaw); }

std::string Row(const char* kind, size_t i) { return Format("{} {} of the shader pack", kind, i); }

// Checks that `count` rows of `row_size` bytes at `offset` are aligned and within `size` bytes.
Status CheckTable(const char* name, uint64_t offset, uint64_t count, uint64_t row_size,
                  uint64_t size) {
  if (offset % kPackAlignment != 0 || offset < sizeof(PackHeader)) {
    return InvalidFile(
        "The shader pack's {} table starts at byte {}, which is not a multiple of {} after the "
        "header.",
        name, offset, kPackAlignment);
  }
  if (offset > size || count * row_size > size - offset) {
    return InvalidFile("The shader pack's {} table ({} bytes at {}) exceeds the pack ({} bytes).",
                       name, count * row_size, offset, size);
  }
  return {};
}

// Programs print ids and derive file names from them: [a-z0-9_], as the compiler ensures.
constexpr size_t kMaxIdLength = 200;
bool IsId(std::string_view name) {
  return !name.empty() && name.size() <= kMaxIdLength && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Status ShaderPack::CheckHeader() const {
  if (reinterpret_cast<uintptr_t>(bytes_.data()) % alignof(PackHeader) != 0) {
    return Error(StatusCode::kInvalidArgument, "The shader pack's address is not a multiple of 8.");
  }
  if (bytes_.size() < sizeof(PackHeader)) {
    return InvalidFile("The shader pack has {} bytes, fewer than its header ({}).", bytes_.size(),
                       sizeof(PackHeader));
  }
  const PackHeader& header = *header_;
  if (header.magic != kPackMagic)
    return InvalidFile("The bytes do not begin with the magic number of a shader pack (SLPK).");
  if (header.version != kPackVersion) {
    return Error(StatusCode::kUnsupported, "The shader pack has version {}; this build reads {}.",
                 header.version, kPackVersion);
  }
  if (header.size != bytes_.size()) {
    return InvalidFile("The shader pack's header contains the size {}; the pack has {} bytes.",
                       header.size, bytes_.size());
  }
  SPIRLOOM_TRY(CheckTable("variant", header.variants_offset, header.variant_count,
                          sizeof(VariantRow), header.size));
  SPIRLOOM_TRY(CheckTable("module", header.modules_offset, header.module_count, sizeof(ModuleRow),
                          header.size));
  SPIRLOOM_TRY(CheckTable("string", header.strings_offset, header.strings_size, 1, header.size));
  return CheckTable("registry", header.registry_offset, header.registry_size, 1, header.size);
}

Status ShaderPack::CheckCodec(const ModuleRow& row, size_t i) {
  if (IsRaw(row)) return {};
  if (row.codec != static_cast<uint32_t>(Codec::kZstd)) {
    return Error(StatusCode::kUnsupported,
                 "{} is compressed with codec {}, which this build does not support.",
                 Row("Module", i), row.codec);
  }
  if (HasZstd()) return {};
  return Error(StatusCode::kUnsupported,
               "{} is compressed with zstd, which this build does not support. Build the runtime "
               "with SPIRLOOM_ZSTD=ON, or the library without COMPRESS.",
               Row("Module", i));
}

Status ShaderPack::CheckSizes(const ModuleRow& row, size_t i) {
  if (row.raw_size % 4 != 0 || row.raw_size < 4 * spirv::kHeaderWords ||
      (IsRaw(row) && row.size != row.raw_size)) {
    return InvalidFile(
        "{} has {} bytes stored and {} raw; expected raw bytes {}a multiple of 4 and at least {}.",
        Row("Module", i), row.size, row.raw_size, IsRaw(row) ? "equal to those stored, " : "",
        4 * spirv::kHeaderWords);
  }
  if (IsRaw(row) || row.raw_size <= kMaxCompressedBytes) return {};
  return InvalidFile("{} decompresses to {} bytes; the maximum is {}.", Row("Module", i),
                     row.raw_size, kMaxCompressedBytes);
}

Status ShaderPack::CheckModules() const {
  for (size_t i = 0; i < modules_.size(); ++i) {
    const ModuleRow& row = modules_[i];
    SPIRLOOM_TRY(CheckCodec(row, i));
    if (row.offset % 4 != 0 || row.offset < sizeof(PackHeader)) {
      return InvalidFile("{} starts at byte {}, which is not a multiple of 4 after the header.",
                         Row("Module", i), row.offset);
    }
    if (row.offset > bytes_.size() || row.size > bytes_.size() - row.offset) {
      return InvalidFile("{} ({} bytes at {}) exceeds the pack ({} bytes).", Row("Module", i),
                         row.size, row.offset, bytes_.size());
    }
    SPIRLOOM_TRY(CheckSizes(row, i));
    if (IsRaw(row) && RawWords(row)[0] != spirv::kMagic) {
      return InvalidFile("{} is not SPIR-V.", Row("Module", i));
    }
  }
  return {};
}

Status ShaderPack::CheckVariants() const {
  for (size_t i = 0; i < variants_.size(); ++i) {
    const VariantRow& row = variants_[i];
    if (i > 0 && row.key <= variants_[i - 1].key) {
      return InvalidFile("{} is out of order: its key ({}) follows {}.", Row("Variant", i), row.key,
                         variants_[i - 1].key);
    }
    if (row.name >= strings_.size() || strings_.back() != '\0') {
      return InvalidFile(
          "{} has its name at byte {} of the string table ({} bytes), where no string ends.",
          Row("Variant", i), row.name, strings_.size());
    }
    const std::string_view start = strings_.substr(row.name, kMaxIdLength + 1);
    if (const std::string_view name = start.substr(0, start.find('\0')); !IsId(name)) {
      return InvalidFile("{} is named {}; expected 1 to {} characters of a-z, 0-9 and _.",
                         Row("Variant", i), Quoted{name}, kMaxIdLength);
    }
    if (row.module >= modules_.size()) {
      return InvalidFile("{} uses module {}; the pack has {}.", Row("Variant", i), row.module,
                         modules_.size());
    }
    if (row.binding_count > kMaxBindings || row.constant_count > kMaxConstants ||
        row.push_bytes > kMaxPushBytes || row.push_bytes % 4 != 0) {
      return InvalidFile(
          "{} has {} bindings, {} constants and {} push-constant bytes; the maxima are {}, {} and "
          "{} (a multiple of 4).",
          Row("Variant", i), row.binding_count, row.constant_count, row.push_bytes, kMaxBindings,
          kMaxConstants, kMaxPushBytes);
    }
    if (std::ranges::any_of(row.workgroup, [](uint16_t size) { return size == 0; })) {
      return InvalidFile("{} has a workgroup of size 0.", Row("Variant", i));
    }
    if (row.any_workgroup_size > 1) {
      return InvalidFile("{} has any_workgroup_size {}; expected 0 or 1.", Row("Variant", i),
                         row.any_workgroup_size);
    }
    SPIRLOOM_TRY(CheckTarget(row, i));
    for (size_t b = 0; b < row.binding_count; ++b) {
      if (row.bindings[b] >= kBindingTypeCount) {
        return InvalidFile("{}", Format("{} has binding {} of unknown type {}.", Row("Variant", i),
                                        b, row.bindings[b]));
      }
    }
  }
  return {};
}

Status ShaderPack::CheckTarget(const VariantRow& row, size_t i) const {
  if (row.vulkan_minor < kMinVulkanMinor || row.vulkan_minor > kMaxVulkanMinor) {
    return InvalidFile("{} requires Vulkan 1.{}; expected 1.{} to 1.{}.", Row("Variant", i),
                       row.vulkan_minor, kMinVulkanMinor, kMaxVulkanMinor);
  }
  const ModuleRow& module = modules_[row.module];
  if (!IsRaw(module)) return {};  // ReadModule() checks the version
  const uint32_t version = RawWords(module)[1];
  const uint32_t max = MaxSpirvVersion(row.vulkan_minor);
  if (version <= max) return {};
  return InvalidFile(
      "{} requires Vulkan 1.{}, which supports SPIR-V up to {}; its module is SPIR-V {}.",
      Row("Variant", i), row.vulkan_minor, SpirvVersionText(max), SpirvVersionText(version));
}

}  // namespace spirloom::pack
