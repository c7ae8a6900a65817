#include "compiler/spirv/spirv_index.h"

#include <spirv/unified1/spirv.hpp>

namespace spirloom::compiler {
namespace {

uint64_t MemberKey(uint32_t id, uint32_t member) { return uint64_t{id} << 32 | member; }

template <typename Map, typename Key>
auto Find(const Map& map, const Key& key) -> std::optional<typename Map::mapped_type> {
  const auto found = map.find(key);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<SpirvIndex> SpirvIndex::Create(std::span<const uint32_t> module) {
  SpirvIndex index;
  const bool well_formed = WalkSpirv(module, [&index](const Instruction& instruction) {
    index.Add(instruction);
    return true;
  });
  if (!well_formed) return std::nullopt;
  return index;
}

void SpirvIndex::Define(uint32_t id, const Instruction& instruction) {
  definitions_[id] = instruction;
}

void SpirvIndex::Add(const Instruction& instruction) {
  const auto word = [&instruction](size_t i) { return instruction.Word(i); };
  if (in_function_) {
    function_body_.push_back(instruction);
    return;
  }
  switch (instruction.opcode) {
    case spv::OpCapability:
      capabilities_.push_back(word(1));
      break;
    case spv::OpExecutionMode:
      if (word(2) == spv::ExecutionModeLocalSize) local_size_ = instruction;
      break;
    case spv::OpName:
      names_[word(1)] = instruction.String(2);
      break;
    case spv::OpString:
      names_[word(1)] = instruction.String(2);
      break;
    case spv::OpMemberName:
      member_names_[{word(1), word(2)}] = instruction.String(3);
      break;
    case spv::OpDecorate:
      decorations_[{word(1), word(2)}] = word(3);
      break;
    case spv::OpMemberDecorate:
      member_decorations_[{MemberKey(word(1), word(2)), word(3)}] = word(4);
      break;
    case spv::OpTypeBool:
    case spv::OpTypeInt:
    case spv::OpTypeFloat:
    case spv::OpTypeVector:
    case spv::OpTypeImage:
    case spv::OpTypeSampledImage:
    case spv::OpTypeArray:
    case spv::OpTypeRuntimeArray:
    case spv::OpTypeStruct:
    case spv::OpTypePointer:
      Define(word(1), instruction);
      break;
    case spv::OpVariable:
      Define(word(2), instruction);
      variables_.push_back(instruction);
      break;
    case spv::OpSpecConstant:
    case spv::OpSpecConstantTrue:
    case spv::OpSpecConstantFalse:
      Define(word(2), instruction);
      spec_constants_.push_back(instruction);
      break;
    case spv::OpConstant:
    case spv::OpSpecConstantOp:
    case spv::OpConstantComposite:
    case spv::OpSpecConstantComposite:
      Define(word(2), instruction);
      break;
    case spv::OpFunction:
      in_function_ = true;
      break;
    default:
      break;
  }
}

Instruction SpirvIndex::Definition(uint32_t id) const {
  return Find(definitions_, id).value_or(Instruction{});
}

std::string SpirvIndex::Name(uint32_t id) const { return Find(names_, id).value_or(""); }

std::string SpirvIndex::MemberName(uint32_t id, uint32_t member) const {
  return Find(member_names_, std::pair{id, member}).value_or("");
}

std::optional<uint32_t> SpirvIndex::Decoration(uint32_t id, uint32_t decoration) const {
  return Find(decorations_, std::pair{id, decoration});
}

std::optional<uint32_t> SpirvIndex::MemberDecoration(uint32_t id, uint32_t member,
                                                     uint32_t decoration) const {
  return Find(member_decorations_, std::pair{MemberKey(id, member), decoration});
}

uint32_t SpirvIndex::ConstantValue(uint32_t id) const {
  constexpr int kMaxDepth = 16;  // malformed modules may have cycles
  return ConstantValue(id, kMaxDepth);
}

uint32_t SpirvIndex::ConstantValue(uint32_t id, int depth) const {
  const Instruction constant = Definition(id);
  if (constant.opcode == spv::OpConstant || constant.opcode == spv::OpSpecConstant)
    return constant.Word(3);
  if (constant.opcode != spv::OpSpecConstantOp || depth == 0) return 0;
  if (constant.Word(3) == spv::OpCompositeExtract) {
    const Instruction composite = Definition(constant.Word(4));
    return ConstantValue(composite.Word(3 + size_t{constant.Word(5)}), depth - 1);
  }
  const uint32_t left = ConstantValue(constant.Word(4), depth - 1);
  const uint32_t right = ConstantValue(constant.Word(5), depth - 1);
  switch (constant.Word(3)) {
    case spv::OpIAdd:
      return left + right;
    case spv::OpISub:
      return left - right;
    case spv::OpIMul:
      return left * right;
    case spv::OpUDiv:
    case spv::OpSDiv:  // of sizes, which are not negative
      return right == 0 ? 0 : left / right;
    default:
      return 0;
  }
}

std::optional<Instruction> SpirvIndex::WorkgroupSize() const {
  for (const auto& [key, value] : decorations_) {
    if (key.second == spv::DecorationBuiltIn && value == spv::BuiltInWorkgroupSize)
      return Definition(key.first);
  }
  return std::nullopt;
}

}  // namespace spirloom::compiler
