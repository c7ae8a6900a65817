#include "compiler/spirv/early_return.h"

#include <algorithm>
#include <cstddef>
#include <spirv/unified1/spirv.hpp>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {
namespace {

using pack::spirv::kHeaderWords;

// The outer switch of a function, and its merge block.
class OuterSwitch {
 public:
  // Finds the switch in the first function of a module.
  explicit OuterSwitch(std::span<const uint32_t> module) {
    bool within = false;
    WalkSpirv(module, [&](const Instruction& in) {
      within = within || in.opcode == spv::OpFunction;
      if (within) body_.push_back(in);
      return in.opcode != spv::OpFunctionEnd;
    });
    Find();
  }

  bool found() const { return merge_ != 0; }
  // The label of the merge block, which only returns.
  uint32_t merge() const { return merge_; }
  bool IsMerge(const Instruction& in) const { return in.words.data() == head_; }
  bool IsSwitch(const Instruction& in) const {
    return in.words.data() == head_ + body_[at_].words.size();
  }

 private:
  // The first block must end in a switch with only a default target. The merge block must be the
  // last block, contain only OpReturn, and have only unconditional branches to it.
  void Find() {
    const auto ends = [](const Instruction& in) {
      return in.opcode == spv::OpSelectionMerge || in.opcode == spv::OpLoopMerge;
    };
    const auto head = std::ranges::find_if(body_, ends);
    if (body_.size() < 4 || head >= body_.end() - 4) return;
    const Instruction& branch = head[1];
    const Instruction& label = body_[body_.size() - 3];
    const bool outer = head->opcode == spv::OpSelectionMerge && branch.opcode == spv::OpSwitch &&
                       branch.words.size() == 3 && head->Word(1) == label.Word(1);
    const bool empty =
        label.opcode == spv::OpLabel && body_[body_.size() - 2].opcode == spv::OpReturn;
    if (!outer || !empty || !OnlyBranches(label.Word(1))) return;
    at_ = static_cast<size_t>(head - body_.begin());
    head_ = head->words.data();
    merge_ = label.Word(1);
  }

  bool OnlyBranches(uint32_t label) const {
    return std::ranges::none_of(body_, [&](const Instruction& in) {
      return (in.opcode == spv::OpBranchConditional &&
              (in.Word(2) == label || in.Word(3) == label)) ||
             (in.opcode == spv::OpSwitch && std::ranges::count(in.words.subspan(2), label) > 0);
    });
  }

  std::vector<Instruction> body_;
  size_t at_ = 0;  // index of OpSelectionMerge in body_
  const uint32_t* head_ = nullptr;
  uint32_t merge_ = 0;
};

}  // namespace

std::vector<uint32_t> RestoreEarlyReturns(std::span<const uint32_t> module) {
  const OuterSwitch outer(module);
  if (!outer.found()) return {module.begin(), module.end()};
  std::vector<uint32_t> out(module.begin(), module.begin() + kHeaderWords);
  bool in_merge = false;
  WalkSpirv(module, [&](const Instruction& in) {
    if (in.opcode == spv::OpFunctionEnd) in_merge = false;
    if (in.opcode == spv::OpLabel && in.Word(1) == outer.merge()) in_merge = true;
    if (in_merge || outer.IsMerge(in)) return true;
    if (outer.IsSwitch(in)) {
      AppendInstruction(out, spv::OpBranch, {in.Word(2)});
    } else if (in.opcode == spv::OpBranch && in.Word(1) == outer.merge()) {
      AppendInstruction(out, spv::OpReturn, {});
    } else {
      out.insert(out.end(), in.words.begin(), in.words.end());
    }
    return true;
  });
  return out;
}

}  // namespace spirloom::compiler
