#include "compiler/checks/divergence.h"

#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <spirv/unified1/spirv.hpp>
#include <utility>

namespace spirloom::compiler {
namespace {

// The words of an instruction that are operand ids: [begin, end).
struct IdOperands {
  size_t begin;
  size_t end;
};

// The operands of an instruction whose result is uniform if its operands are; nullopt for
// others.
std::optional<IdOperands> PureOperands(const Instruction& in) {
  const size_t all = in.words.size();
  switch (in.opcode) {
    case spv::OpCompositeExtract:
      return IdOperands{3, 4};
    case spv::OpCompositeInsert:
    case spv::OpVectorShuffle:
      return IdOperands{3, 5};
    case spv::OpExtInst: {
      const uint32_t function = in.Word(4);
      const bool writes = function == GLSLstd450Modf || function == GLSLstd450Frexp;
      return writes ? std::nullopt : std::optional(IdOperands{5, all});
    }
    case spv::OpArrayLength:
      return IdOperands{3, 4};
    case spv::OpCooperativeMatrixLengthNV:
      return IdOperands{3, 3};
    // Functions that are not inlined are pure (uniformity.cpp).
    case spv::OpFunctionCall:
      return IdOperands{4, all};
    case spv::OpAccessChain:
    case spv::OpInBoundsAccessChain:
    case spv::OpVectorExtractDynamic:
    case spv::OpVectorInsertDynamic:
    case spv::OpCompositeConstruct:
    case spv::OpCopyObject:
    case spv::OpCopyLogical:
    case spv::OpTranspose:
    case spv::OpImageQuerySize:
    case spv::OpImageQuerySizeLod:
      return IdOperands{3, all};
    default:
      break;
  }
  const bool arithmetic = (in.opcode >= spv::OpConvertFToU && in.opcode <= spv::OpBitcast) ||
                          (in.opcode >= spv::OpSNegate && in.opcode <= spv::OpSMulExtended) ||
                          (in.opcode >= spv::OpAny && in.opcode <= spv::OpFUnordGreaterThanEqual) ||
                          (in.opcode >= spv::OpShiftRightLogical && in.opcode <= spv::OpBitCount);
  return arithmetic ? std::optional(IdOperands{3, all}) : std::nullopt;
}

// Whether word 2 is a result id.
bool HasResult(const Instruction& in) {
  bool result = false;
  bool type = false;
  spv::HasResultAndType(static_cast<spv::Op>(in.opcode), &result, &type);
  return result && type;
}

bool IsUniformBuiltIn(std::optional<uint32_t> builtin, spv::Scope scope) {
  const bool of_subgroup = builtin == spv::BuiltInSubgroupId ||
                           builtin == spv::BuiltInSubgroupSize ||
                           builtin == spv::BuiltInNumSubgroups;
  return builtin == spv::BuiltInWorkgroupId || builtin == spv::BuiltInNumWorkgroups ||
         builtin == spv::BuiltInWorkgroupSize || (of_subgroup && scope == spv::ScopeSubgroup);
}

// Whether all invocations of a subgroup that execute the instruction get the same result.
bool IsSubgroupUniform(const Instruction& in) {
  return in.opcode == spv::OpGroupNonUniformAll || in.opcode == spv::OpGroupNonUniformAny ||
         in.opcode == spv::OpGroupNonUniformAllEqual ||
         in.opcode == spv::OpGroupNonUniformBroadcastFirst ||
         in.opcode == spv::OpGroupNonUniformBallot;
}

// Whether the block is declared `readonly`: no invocation writes it while the kernel runs.
bool IsReadOnly(const SpirvIndex& index, const Instruction& variable) {
  const uint32_t block = index.Definition(variable.Word(1)).Word(3);
  return index.Decoration(variable.Word(2), spv::DecorationNonWritable).has_value() ||
         index.MemberDecoration(block, 0, spv::DecorationNonWritable).has_value();
}

}  // namespace

Divergence::Memory Divergence::MemoryOf(const Instruction& variable) const {
  switch (variable.Word(3)) {
    case spv::StorageClassPushConstant:
    case spv::StorageClassUniformConstant:
      return Memory::kUniform;
    case spv::StorageClassInput:
      return IsUniformBuiltIn(index_.Decoration(variable.Word(2), spv::DecorationBuiltIn), scope_)
                 ? Memory::kUniform
                 : Memory::kDivergent;
    case spv::StorageClassFunction:
    case spv::StorageClassPrivate:
      return Memory::kPrivate;
    case spv::StorageClassStorageBuffer:
    case spv::StorageClassUniform:
      return IsReadOnly(index_, variable) ? Memory::kUniform : Memory::kDivergent;
    case spv::StorageClassWorkgroup:
      return Memory::kShared;
    default:
      return Memory::kDivergent;
  }
}

Divergence::Divergence(const SpirvIndex& index, const ControlFlow& flow, spv::Scope scope)
    : index_(index), flow_(flow), scope_(scope) {
  for (const Instruction& variable : index.variables()) AddVariable(variable);
  while (std::exchange(changed_, false)) {
    for (size_t block = 0; block < flow.blocks().size(); ++block) {
      PropagateToBlock(block);
      for (const Instruction& in : flow.blocks()[block].instructions) Propagate(in, block);
    }
  }
}

bool Divergence::IsPure(const Instruction& in) { return PureOperands(in).has_value(); }

bool Divergence::BranchDiverges(size_t block) const {
  const Block& source = flow_.blocks()[block];
  return source.successors.size() > 1 && values_.contains(source.terminator().Word(1));
}

void Divergence::AddVariable(const Instruction& variable) {
  memory_[variable.Word(2)] = MemoryOf(variable);
  roots_[variable.Word(2)] = variable.Word(2);
}

void Divergence::PropagateToBlock(size_t block_index) {
  const Block& block = flow_.blocks()[block_index];
  const auto diverges = [this](size_t branch) {
    return BlockDiverges(branch) || BranchDiverges(branch);
  };
  if (!block.can_exit || std::ranges::any_of(block.depends_on, diverges)) Add(blocks_, block_index);
}

void Divergence::Propagate(const Instruction& in, size_t block) {
  switch (in.opcode) {
    case spv::OpVariable:
      return AddVariable(in);
    case spv::OpPhi:
      if (PhiDiverges(in)) Add(values_, in.Word(2));
      return;
    case spv::OpLoad:
      if (LoadDiverges(in, block)) Add(values_, in.Word(2));
      return;
    case spv::OpStore:
      if (BlockDiverges(block) || values_.contains(in.Word(1)) || values_.contains(in.Word(2))) {
        MarkDivergent(in.Word(1));
      }
      return;
    case spv::OpAccessChain:
    case spv::OpInBoundsAccessChain:
      if (const auto root = roots_.find(in.Word(3)); root != roots_.end()) {
        roots_[in.Word(2)] = root->second;
      }
      return PropagateOperands(in);
    // Memory operands are literals, which must not be mistaken for ids.
    case spv::OpCooperativeMatrixLoadNV:
      Add(values_, in.Word(2));
      return;
    case spv::OpCooperativeMatrixStoreNV:
      return MarkDivergent(in.Word(1));
    case spv::OpLine:
    case spv::OpNoLine:
    case spv::OpSelectionMerge:
    case spv::OpLoopMerge:
    case spv::OpBranch:
    case spv::OpBranchConditional:
    case spv::OpSwitch:
      return;
    default:
      return PropagateOperands(in);
  }
}

void Divergence::PropagateOperands(const Instruction& in) {
  if (scope_ == spv::ScopeSubgroup && IsSubgroupUniform(in)) return;
  if (const std::optional<IdOperands> ids = PureOperands(in)) {
    const auto operands = in.words.subspan(ids->begin, ids->end - ids->begin);
    if (std::ranges::any_of(operands, [this](uint32_t id) { return values_.contains(id); })) {
      Add(values_, in.Word(2));
    }
    return;
  }
  // Other instructions may return or write divergent values. Treating literals as ids only makes
  // the result more conservative.
  if (HasResult(in)) Add(values_, in.Word(2));
  for (const uint32_t word : in.words.subspan(1)) MarkDivergent(word);
}

bool Divergence::PhiDiverges(const Instruction& phi) const {
  for (size_t i = 3; i + 1 < phi.words.size(); i += 2) {
    const size_t source = flow_.BlockOf(phi.Word(i + 1));
    if (values_.contains(phi.Word(i)) || BlockDiverges(source) || BranchDiverges(source)) {
      return true;
    }
  }
  return false;
}

bool Divergence::LoadDiverges(const Instruction& load, size_t block) const {
  const uint32_t pointer = load.Word(3);
  const auto root = roots_.find(pointer);
  if (root == roots_.end() || values_.contains(pointer)) return true;
  const Memory memory = memory_.at(root->second);
  if (memory == Memory::kShared) return BlockDiverges(block) || !IsBetweenBarriers(load, block);
  return memory == Memory::kDivergent || divergent_variables_.contains(root->second);
}

bool Divergence::IsBetweenBarriers(const Instruction& in, size_t block) const {
  const std::span<const Instruction> all = flow_.blocks()[block].instructions;
  const auto at = static_cast<size_t>(&in - all.data());
  // Whether a barrier comes first.
  const auto is_behind_barrier = [this](auto&& instructions) {
    for (const Instruction& other : instructions) {
      if (IsWorkgroupBarrier(other)) return true;
      if (MayWriteShared(other)) return false;
    }
    return false;
  };
  return is_behind_barrier(std::views::reverse(all.first(at))) &&
         is_behind_barrier(all.subspan(at + 1));
}

bool Divergence::IsWorkgroupBarrier(const Instruction& in) const {
  return in.opcode == spv::OpControlBarrier &&
         index_.ConstantValue(in.Word(1)) == spv::ScopeWorkgroup;
}

bool Divergence::MayWriteShared(const Instruction& in) const {
  if (in.opcode == spv::OpStore) {
    const auto root = roots_.find(in.Word(1));
    return root == roots_.end() || memory_.at(root->second) == Memory::kShared;
  }
  const bool reads = in.opcode == spv::OpLoad || in.opcode == spv::OpPhi ||
                     in.opcode == spv::OpLine || in.opcode == spv::OpNoLine;
  return !reads && !IsPure(in);
}

void Divergence::MarkDivergent(uint32_t pointer) {
  const auto root = roots_.find(pointer);
  if (root == roots_.end() || memory_.at(root->second) == Memory::kUniform) return;
  Add(divergent_variables_, root->second);
}

}  // namespace spirloom::compiler
