// Adds declarations and functions to a SPIR-V module that is being rewritten.
#ifndef SPIRLOOM_RUNTIME_PACK_SPIRV_BUILDER_H_
#define SPIRLOOM_RUNTIME_PACK_SPIRV_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/pack/spirv_words.h"

namespace spirloom::pack::spirv {

using Operands = std::initializer_list<uint32_t>;

// Declares types and constants once: those of the module are found again. References the words of
// the module.
class SpirvBuilder {
 public:
  // `module` has a complete header.
  explicit SpirvBuilder(std::span<const uint32_t> module)
      : module_(module), next_id_(module[kIdBound]) {}

  uint32_t NewId() { return next_id_++; }
  // The id bound of the rewritten module.
  uint32_t bound() const { return next_id_; }
  // Declarations that the module lacks, in order.
  const std::vector<uint32_t>& declarations() const { return declarations_; }

  // The id of a type. `operands` follow the result id.
  uint32_t Type(uint32_t opcode, Operands operands) { return Declare(opcode, 1, operands); }
  uint32_t Uint();
  uint32_t Float();
  uint32_t Bool();
  uint32_t Vector(uint32_t scalar, uint32_t count);
  // The id of a constant of 32 bits.
  uint32_t Constant(uint32_t type, uint32_t bits);
  uint32_t Constant(uint32_t bits);
  // The id of a uvec4 constant.
  uint32_t Constant4(const uint32_t (&bits)[4]);

  // Appends instructions to `out`.
  static void Append(std::vector<uint32_t>& out, std::span<const uint32_t> words);
  // Appends an instruction to `out`.
  static void Emit(std::vector<uint32_t>& out, uint32_t opcode, Operands operands);
  // Appends an instruction with a literal string after `operands`.
  static void EmitString(std::vector<uint32_t>& out, uint32_t opcode, Operands operands,
                         std::string_view text);
  // Appends an instruction with a result of `type`; returns its id.
  uint32_t Result(std::vector<uint32_t>& out, uint32_t opcode, uint32_t type, Operands operands);

 private:
  // `result` is the position of the result id: operands before it are types.
  uint32_t Declare(uint32_t opcode, size_t result, Operands operands);

  std::span<const uint32_t> module_;
  uint32_t next_id_;
  std::vector<uint32_t> declarations_;
};

}  // namespace spirloom::pack::spirv

#endif  // SPIRLOOM_RUNTIME_PACK_SPIRV_BUILDER_H_
