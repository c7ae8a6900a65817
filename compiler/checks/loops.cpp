#include "compiler/checks/loops.h"

#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <spirv/unified1/spirv.hpp>

#include "compiler/checks/control_flow.h"
#include "compiler/checks/divergence.h"
#include "compiler/spirv/spirv_index.h"

namespace spirloom::compiler {
namespace {

// The local size has the specialization constants 0, 1 and 2; the device limits it.
constexpr uint32_t kFirstOwnConstant = 3;

bool IsMinimum(const Instruction& in) {
  if (in.opcode != spv::OpExtInst) return false;
  const uint32_t function = in.Word(4);
  return function == GLSLstd450SMin || function == GLSLstd450UMin || function == GLSLstd450FMin ||
         function == GLSLstd450NMin;
}

// `a < b` or `a <= b`: only `b` bounds a variable that increases.
bool IsLess(uint16_t opcode) {
  return opcode == spv::OpSLessThan || opcode == spv::OpULessThan ||
         opcode == spv::OpSLessThanEqual || opcode == spv::OpULessThanEqual ||
         opcode == spv::OpFOrdLessThan || opcode == spv::OpFOrdLessThanEqual;
}

// The first word of the instruction's operands.
size_t FirstOperand(const Instruction& in) { return in.opcode == spv::OpExtInst ? 5 : 3; }

// The loops of a function.
class LoopSearch {
 public:
  LoopSearch(const SpirvIndex& index, std::span<const Instruction> body)
      : index_(index), flow_(body) {
    for (size_t block = 0; block < flow_.blocks().size(); ++block) {
      for (const Instruction& in : flow_.blocks()[block].instructions) {
        bool has_result = false;
        bool has_type = false;
        spv::HasResultAndType(static_cast<spv::Op>(in.opcode), &has_result, &has_type);
        if (has_result && has_type) definitions_.insert({in.Word(2), {&in, block}});
      }
    }
  }

  std::vector<std::string> Run() {
    std::vector<std::string> found;
    for (header_ = 0; header_ < flow_.blocks().size(); ++header_) {
      const std::span<const Instruction> block = flow_.blocks()[header_].instructions;
      const auto merge = std::ranges::find(block, uint16_t{spv::OpLoopMerge}, &Instruction::opcode);
      if (merge != block.end() && !IsBounded(merge->Word(1))) found.push_back(Position());
    }
    return found;
  }

 private:
  struct Definition {
    const Instruction* in;
    size_t block;
  };

  // Whether the first branch of the loop, or one that repeats it, leaves it for `merge` on a
  // bounded condition.
  bool IsBounded(uint32_t merge) {
    size_t first = header_;
    while (flow_.blocks()[first].successors.size() == 1 &&
           flow_.blocks()[first].successors[0] > first) {
      first = flow_.blocks()[first].successors[0];
    }
    if (BoundedExit(first, merge)) return true;
    const std::vector<size_t>& sources = flow_.blocks()[header_].predecessors;
    return std::ranges::any_of(sources,
                               [&](size_t i) { return i >= header_ && BoundedExit(i, merge); });
  }

  bool BoundedExit(size_t block, uint32_t merge) {
    const Instruction& branch = flow_.blocks()[block].terminator();
    if (branch.opcode != spv::OpBranchConditional) return false;
    const bool exits_if_false = branch.Word(3) == merge;
    if (!exits_if_false && branch.Word(2) != merge) return false;
    seen_.clear();
    return exits_if_false ? BoundedCondition(branch.Word(1)) : Bounded(branch.Word(1));
  }

  // Whether a condition becomes false after a bounded number of iterations.
  bool BoundedCondition(uint32_t id) {
    const auto found = definitions_.find(id);
    if (found == definitions_.end()) return Bounded(id);
    const Instruction& in = *found->second.in;
    if (in.opcode == spv::OpLogicalAnd)
      return BoundedCondition(in.Word(3)) || BoundedCondition(in.Word(4));
    if (in.opcode == spv::OpSGreaterThan && IsHalved(in.Word(3))) return Bounded(in.Word(4));
    if (!IsLess(in.opcode)) return Bounded(id);
    const bool is_variable = PhiOfLoop(in.Word(3)) != nullptr;
    return Bounded(in.Word(4)) && (is_variable ? BoundedStep(in.Word(3)) : Bounded(in.Word(3)));
  }

  // The variable of this loop with this id, or null.
  const Instruction* PhiOfLoop(uint32_t id) const {
    const auto found = definitions_.find(id);
    const bool is_variable = found != definitions_.end() &&
                             found->second.in->opcode == spv::OpPhi &&
                             found->second.block == header_;
    return is_variable ? found->second.in : nullptr;
  }

  // The ids of a variable's values after an iteration.
  std::vector<uint32_t> NextValues(const Instruction& phi) const {
    std::vector<uint32_t> values;
    for (size_t i = 3; i + 1 < phi.words.size(); i += 2) {
      if (flow_.BlockOf(phi.Word(i + 1)) >= header_) values.push_back(phi.Word(i));
    }
    return values;
  }

  // Whether a variable of this loop has a bounded step, whatever its initial value.
  bool BoundedStep(uint32_t id) {
    seen_.insert(id);
    return std::ranges::all_of(NextValues(*PhiOfLoop(id)),
                               [this](uint32_t value) { return Bounded(value); });
  }

  // Whether the loop halves the variable, so that it is 0 after 32 iterations.
  bool IsHalved(uint32_t id) const {
    const Instruction* phi = PhiOfLoop(id);
    return phi != nullptr && std::ranges::all_of(NextValues(*phi), [&](uint32_t value) {
             const auto next = definitions_.find(value);
             if (next == definitions_.end()) return false;
             const Instruction& step = *next->second.in;
             const bool shifts = step.opcode == spv::OpShiftRightArithmetic ||
                                 step.opcode == spv::OpShiftRightLogical;
             if (!(shifts || step.opcode == spv::OpSDiv) || step.Word(3) != id) return false;
             const Instruction by = index_.Definition(step.Word(4));
             if (by.opcode != spv::OpConstant) return false;
             return shifts ? by.Word(3) > 0 && by.Word(3) < 32
                           : by.Word(3) > 1 && by.Word(3) < 0x80000000;
           });
  }

  // Whether the value depends only on constants, the workgroup size and variables of loops.
  bool Bounded(uint32_t id) {
    if (!seen_.insert(id).second) return true;
    const auto found = definitions_.find(id);
    if (found == definitions_.end()) return BoundedGlobal(id);
    const Instruction& in = *found->second.in;
    if (in.opcode == spv::OpPhi) {
      for (size_t i = 3; i + 1 < in.words.size(); i += 2) {
        if (!Bounded(in.Word(i))) return false;
      }
      return true;
    }
    if (!Divergence::IsPure(in)) return false;
    const std::span<const uint32_t> operands = in.opcode == spv::OpCompositeExtract
                                                   ? in.words.subspan(3, 1)
                                                   : in.words.subspan(FirstOperand(in));
    const auto bounded = [this](uint32_t operand) { return Bounded(operand); };
    return IsMinimum(in) ? std::ranges::any_of(operands, bounded)
                         : std::ranges::all_of(operands, bounded);
  }

  bool BoundedGlobal(uint32_t id) {
    const Instruction global = index_.Definition(id);
    switch (global.opcode) {
      case spv::OpVariable:
        return false;
      case spv::OpSpecConstant:
      case spv::OpSpecConstantTrue:
      case spv::OpSpecConstantFalse:
        return index_.Decoration(id, spv::DecorationSpecId).value_or(0) < kFirstOwnConstant;
      // Literal operands are not ids of specialization constants, as constants precede them.
      case spv::OpSpecConstantOp:
        return std::ranges::all_of(global.words.subspan(4),
                                   [this](uint32_t operand) { return Bounded(operand); });
      default:
        return true;
    }
  }

  // The last position from OpLine before the end of the loop's first block.
  std::string Position() const {
    std::string position;
    for (const Instruction& in : flow_.blocks()[header_].instructions) {
      if (in.opcode == spv::OpLine)
        position = index_.Name(in.Word(1)) + ":" + std::to_string(in.Word(2));
    }
    return position;
  }

  const SpirvIndex& index_;
  const ControlFlow flow_;
  std::map<uint32_t, Definition> definitions_;
  size_t header_ = 0;
  std::set<uint32_t> seen_;
};

}  // namespace

std::vector<std::string> FindUnboundedLoops(std::span<const uint32_t> module) {
  const std::optional<SpirvIndex> index = SpirvIndex::Create(module);
  if (!index) return {};
  const std::vector<Instruction>& all = index->function_body();
  const auto is_loop = [](const Instruction& in) { return in.opcode == spv::OpLoopMerge; };
  std::vector<std::string> found;
  for (auto begin = all.begin(); begin != all.end();) {
    auto end = std::find_if(begin, all.end(),
                            [](const Instruction& in) { return in.opcode == spv::OpFunctionEnd; });
    if (std::any_of(begin, end, is_loop)) {
      const std::vector<std::string> loops = LoopSearch(*index, {begin, end}).Run();
      found.insert(found.end(), loops.begin(), loops.end());
    }
    begin = end == all.end() ? end : end + 1;
  }
  return found;
}

}  // namespace spirloom::compiler
