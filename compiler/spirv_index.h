// The declarations of a SPIR-V module by id: what Reflect() looks things up in.
#ifndef SPIRLOOM_COMPILER_SPIRV_INDEX_H_
#define SPIRLOOM_COMPILER_SPIRV_INDEX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/spirv_walker.h"

namespace spirloom::compiler {

// Refers to the module's words, which must outlive it.
class SpirvIndex {
 public:
  // nullopt if `module` is not a well-formed sequence of instructions.
  static std::optional<SpirvIndex> Create(std::span<const uint32_t> module);

  // The type or constant or variable that defines `id`; opcode 0 if there is none.
  Instruction Definition(uint32_t id) const;
  // The debug name of `id`, or the text of an OpString; empty without one.
  std::string Name(uint32_t id) const;
  std::string MemberName(uint32_t id, uint32_t member) const;
  // The operand of a decoration of `id`, 0 for one without operands; nullopt if it has none such.
  std::optional<uint32_t> Decoration(uint32_t id, uint32_t decoration) const;
  std::optional<uint32_t> MemberDecoration(uint32_t id, uint32_t member, uint32_t decoration) const;
  // The value of a 32-bit (specialisation) constant, by default; 0 for anything else.
  uint32_t ConstantValue(uint32_t id) const;

  const std::vector<Instruction>& variables() const { return variables_; }
  const std::vector<Instruction>& spec_constants() const { return spec_constants_; }
  const std::vector<Instruction>& function_body() const { return function_body_; }
  const std::vector<uint32_t>& capabilities() const { return capabilities_; }
  // The three ids of the constant decorated WorkgroupSize, or nullopt.
  std::optional<Instruction> WorkgroupSize() const;
  // The operands of the LocalSize execution mode.
  const std::optional<Instruction>& local_size() const { return local_size_; }

 private:
  void Add(const Instruction& instruction);
  void Define(uint32_t id, const Instruction& instruction);

  bool in_function_ = false;
  std::map<uint32_t, Instruction> definitions_;
  std::map<uint32_t, std::string> names_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> member_names_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> decorations_;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> member_decorations_;
  std::vector<Instruction> variables_, spec_constants_, function_body_;
  std::vector<uint32_t> capabilities_;
  std::optional<Instruction> local_size_;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_INDEX_H_
