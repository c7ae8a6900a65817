// Declarations of a SPIR-V module, indexed by id.
#ifndef SPIRLOOM_COMPILER_SPIRV_SPIRV_INDEX_H_
#define SPIRLOOM_COMPILER_SPIRV_SPIRV_INDEX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {

// References the words of the module, which must outlive the index.
class SpirvIndex {
 public:
  // nullopt if `module` is not a well-formed sequence of instructions.
  static std::optional<SpirvIndex> Create(std::span<const uint32_t> module);

  // The type, constant or variable with this id; opcode 0 if there is none.
  Instruction Definition(uint32_t id) const;
  // The debug name of `id`, or the text of an OpString; empty without one.
  std::string Name(uint32_t id) const;
  std::string MemberName(uint32_t id, uint32_t member) const;
  // The operand of a decoration of `id`, 0 if it has no operands; nullopt without this decoration.
  std::optional<uint32_t> Decoration(uint32_t id, uint32_t decoration) const;
  std::optional<uint32_t> MemberDecoration(uint32_t id, uint32_t member, uint32_t decoration) const;
  // The (default) value of a 32-bit constant or specialization constant, also if it is a component,
  // sum, difference, product or quotient of others; 0 for other ids.
  uint32_t ConstantValue(uint32_t id) const;

  const std::vector<Instruction>& variables() const { return variables_; }
  const std::vector<Instruction>& spec_constants() const { return spec_constants_; }
  const std::vector<Instruction>& function_body() const { return function_body_; }
  const std::vector<uint32_t>& capabilities() const { return capabilities_; }
  // The constant with the decoration WorkgroupSize, which has three constituent ids, or nullopt.
  std::optional<Instruction> WorkgroupSize() const;
  // The OpExecutionMode LocalSize.
  const std::optional<Instruction>& local_size() const { return local_size_; }

 private:
  // At most `depth` operations deep.
  uint32_t ConstantValue(uint32_t id, int depth) const;

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

#endif  // SPIRLOOM_COMPILER_SPIRV_SPIRV_INDEX_H_
