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

// Whether to hash all bytes: for packs from files; an embedded one is as trusted as the program.
enum class PackCheck : uint8_t { kStructure, kContent };

// A checked view of a shader pack (pack_format.h). Refers to the bytes it was opened from.
class ShaderPack {
 public:
  // Checks every offset, count, order and name, so that the accessors below stay within `bytes`,
  // which must be 8-byte aligned. Fails with kInvalidFile, naming the field and both values, and
  // with kUnsupported for another version or a codec that this build lacks.
  static Result<ShaderPack> Open(std::span<const std::byte> bytes, PackCheck check);

  const PackHeader& header() const { return *header_; }
  std::span<const VariantRow> variants() const { return variants_; }
  std::span<const ModuleRow> modules() const { return modules_; }
  // What ReadRegistry takes.
  std::span<const std::byte> registry() const {
    return bytes_.subspan(header_->registry_offset, header_->registry_size);
  }

  // The variant with this key, or null.
  const VariantRow* Find(uint64_t key) const;
  // The variant's id, e.g. "add_f32_buffer". `row` is one of variants().
  std::string_view Name(const VariantRow& row) const;
  // Its module, as it is stored.
  StoredModule Module(const VariantRow& row) const;
  // Its module, as drivers get it. Fails like ReadModule().
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
