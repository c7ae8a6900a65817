#include "compiler/checks/uniformity.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <spirv/unified1/spirv.hpp>

#include "compiler/checks/control_flow.h"
#include "compiler/checks/divergence.h"
#include "compiler/spirv/spirv_index.h"

namespace spirloom::compiler {
namespace {

// The position from OpLine of instruction `at` of a block.
std::string PositionOf(const SpirvIndex& index, std::span<const Instruction> block, size_t at) {
  std::string position;
  for (const Instruction& in : block.first(at)) {
    if (in.opcode == spv::OpLine) {
      position = index.Name(in.Word(1)) + ":" + std::to_string(in.Word(2));
    } else if (in.opcode == spv::OpNoLine) {
      position.clear();
    }
  }
  return position;
}

bool IsBarrier(const Instruction& in) { return in.opcode == spv::OpControlBarrier; }

// Whether an instruction may be part of a pure function without branches. Only divide() is not
// inlined (compiler/spirv/division.h), and it is such a function.
bool IsAllowedInPureFunction(const Instruction& in) {
  return in.opcode == spv::OpFunction || in.opcode == spv::OpFunctionParameter ||
         in.opcode == spv::OpLabel || in.opcode == spv::OpReturnValue ||
         in.opcode == spv::OpFunctionEnd || in.opcode == spv::OpLine ||
         in.opcode == spv::OpNoLine || Divergence::IsPure(in);
}

// Finds the divergent barriers of a function.
class BarrierSearch {
 public:
  BarrierSearch(const SpirvIndex& index, std::span<const Instruction> body)
      : index_(index),
        flow_(body),
        workgroup_(index, flow_, spv::ScopeWorkgroup),
        subgroup_(index, flow_, spv::ScopeSubgroup) {}

  void AppendTo(std::vector<DivergentBarrier>& found) const {
    for (size_t i = 0; i < flow_.blocks().size(); ++i) {
      const std::span<const Instruction> block = flow_.blocks()[i].instructions;
      for (size_t at = 0; at < block.size(); ++at) {
        if (!IsBarrier(block[at])) continue;
        const bool of_subgroup = index_.ConstantValue(block[at].Word(1)) == spv::ScopeSubgroup;
        const Divergence& divergence = of_subgroup ? subgroup_ : workgroup_;
        if (!divergence.BlockDiverges(i)) continue;
        found.push_back({PositionOf(index_, block, at), ConditionBefore(i, divergence)});
      }
    }
  }

 private:
  // The position of a divergent branch that the block depends on, directly or indirectly.
  std::string ConditionBefore(size_t block, const Divergence& divergence) const {
    std::set<size_t> seen{block};
    std::vector<size_t> pending{block};
    while (!pending.empty()) {
      const size_t next = pending.back();
      pending.pop_back();
      for (const size_t branch : flow_.blocks()[next].depends_on) {
        if (divergence.BranchDiverges(branch)) {
          const std::span<const Instruction> source = flow_.blocks()[branch].instructions;
          return PositionOf(index_, source, source.size() - 1);
        }
        if (seen.insert(branch).second) pending.push_back(branch);
      }
    }
    return "";
  }

  const SpirvIndex& index_;
  const ControlFlow flow_;
  const Divergence workgroup_;
  const Divergence subgroup_;
};

}  // namespace

std::vector<DivergentBarrier> FindDivergentBarriers(std::span<const uint32_t> module) {
  std::vector<DivergentBarrier> found;
  const std::optional<SpirvIndex> index = SpirvIndex::Create(module);
  if (!index) return found;
  const std::vector<Instruction>& all = index->function_body();
  if (std::ranges::none_of(all, IsBarrier)) return found;
  const auto ends = [](const Instruction& in) { return in.opcode == spv::OpFunctionEnd; };
  const auto end = std::ranges::find_if(all, ends);
  if (!std::all_of(end, all.end(), IsAllowedInPureFunction)) return {DivergentBarrier{}};
  BarrierSearch(*index, {all.begin(), end}).AppendTo(found);
  return found;
}

}  // namespace spirloom::compiler
