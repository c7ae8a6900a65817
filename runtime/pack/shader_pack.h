#ifndef SPIRLOOM_RUNTIME_PACK_SHADER_PACK_H_
#define SPIRLOOM_RUNTIME_PACK_SHADER_PACK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/pack/pack_format.h"
#include "runtime/pack/stored_module.h"
#include "spirloom/status.h"

namespace spirloom::pack {

// Whether to verify the digest of all bytes. Packs in files need it, embedded ones are trusted.
enum class PackCheck : uint8_t { kStructure, kContent };

// A validated view of a shader pack (pack_format.h). Refers to the bytes.
class ShaderPack {
 public:
  // Validates offsets, counts, order and names, so that the accessors stay within `bytes`, which
  // must be 8-byte aligned. Fails with kInvalidFile, and with kUnsupported for another version or
  // an unsupported codec.
  static Result<ShaderPack> Open(std::span<const std::byte> bytes, PackCheck check);

  const PackHeader& header() const { return *header_; }
  std::span<const VariantRow> variants() const { return variants_; }
  std::span<const ModuleRow> modules() const { return modules_; }
  // The encoded operator registry, for ReadRegistry().
  std::span<const std::byte> registry() const {
    return bytes_.subspan(header_->registry_offset, header_->registry_size);
  }

  // The variant with this key, or null.
  const VariantRow* Find(uint64_t key) const;
  // The id of a variant, e.g. "add_f32_buffer". `row` is one of variants().
  std::string_view Name(const VariantRow& row) const;
  // The module of a variant as stored.
  StoredModule Module(const VariantRow& row) const;
  // The module of a variant as passed to the driver. Fails like ReadModule().
  Result<std::vector<uint32_t>> ReadSpirv(const VariantRow& row) const;

 private:
  ShaderPack() = default;
  Status CheckHeader() const;
  Status CheckVariants() const;
  Status CheckTarget(const VariantRow& row, size_t i) const;
  Status CheckModules() const;
  static Status CheckCodec(const ModuleRow& row, size_t i);
  static Status CheckSizes(const ModuleRow& row, size_t i);
  std::span<const uint32_t> RawWords(const ModuleRow& row) const;

  std::span<const std::byte> bytes_;
  const PackHeader* header_ = nullptr;
  std::span<const VariantRow> variants_;
  std::span<const ModuleRow> modules_;
  std::string_view strings_;
};

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_SHADER_PACK_H_
