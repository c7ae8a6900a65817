#include "compiler/checks/control_flow.h"

#include <algorithm>
#include <spirv/unified1/spirv.hpp>
#include <utility>

namespace spirloom::compiler {
namespace {

constexpr size_t kUnknown = SIZE_MAX;

// The labels that a terminator may branch to.
std::vector<uint32_t> Targets(const Instruction& terminator) {
  std::vector<uint32_t> labels;
  switch (terminator.opcode) {
    case spv::OpBranch:
      return {terminator.Word(1)};
    case spv::OpBranchConditional:
      return {terminator.Word(2), terminator.Word(3)};
    case spv::OpSwitch:  // default, then (literal, label) pairs; GLSL selectors have 32 bits
      labels.push_back(terminator.Word(2));
      for (size_t i = 4; i < terminator.words.size(); i += 2) labels.push_back(terminator.Word(i));
      return labels;
    default:
      return {};
  }
}

}  // namespace

ControlFlow::ControlFlow(std::span<const Instruction> body) {
  Split(body);
  Connect();
  FindPostdominators();
  FindDependences();
}

void ControlFlow::Split(std::span<const Instruction> body) {
  size_t begin = 0;
  while (begin < body.size() && body[begin].opcode != spv::OpLabel) ++begin;
  while (begin < body.size()) {
    size_t end = begin + 1;
    while (end < body.size() && body[end].opcode != spv::OpLabel) ++end;
    Block block;
    block.label = body[begin].Word(1);
    block.instructions = body.subspan(begin + 1, end - begin - 1);
    by_label_[block.label] = blocks_.size();
    if (!block.instructions.empty()) blocks_.push_back(std::move(block));
    begin = end;
  }
}

void ControlFlow::Connect() {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    std::vector<size_t>& successors = blocks_[i].successors;
    for (const uint32_t label : Targets(blocks_[i].terminator())) {
      successors.push_back(by_label_.at(label));
    }
    std::ranges::sort(successors);
    successors.erase(std::unique(successors.begin(), successors.end()), successors.end());
    for (const size_t successor : successors) blocks_[successor].predecessors.push_back(i);
  }
}

std::vector<size_t> ControlFlow::PostorderFromExits() {
  std::vector<size_t> postorder;
  std::vector<std::pair<size_t, size_t>> path;  // (block, the next predecessor to visit)
  const auto enter = [&](size_t block) {
    if (!std::exchange(blocks_[block].can_exit, true)) path.emplace_back(block, 0);
  };
  for (size_t last = 0; last < blocks_.size(); ++last) {
    if (blocks_[last].successors.empty()) enter(last);
    while (!path.empty()) {
      auto& [block, edge] = path.back();
      if (edge < blocks_[block].predecessors.size()) {
        enter(blocks_[block].predecessors[edge++]);
      } else {
        postorder.push_back(block);
        path.pop_back();
      }
    }
  }
  return postorder;
}

// Algorithm: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed
// graph.
void ControlFlow::FindPostdominators() {
  const size_t exit = blocks_.size();
  postdominator_.assign(exit + 1, kUnknown);
  postdominator_[exit] = exit;
  order_.assign(exit + 1, 0);
  const std::vector<size_t> postorder = PostorderFromExits();
  for (size_t i = 0; i < postorder.size(); ++i) order_[postorder[i]] = postorder.size() - i;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto next_block = postorder.rbegin(); next_block != postorder.rend(); ++next_block) {
      const size_t block = *next_block;
      size_t found = blocks_[block].successors.empty() ? exit : kUnknown;
      for (const size_t next : blocks_[block].successors) {
        if (postdominator_[next] == kUnknown) continue;
        found = found == kUnknown ? next : CommonPostdominator(found, next);
      }
      changed = std::exchange(postdominator_[block], found) != found || changed;
    }
  }
}

size_t ControlFlow::CommonPostdominator(size_t a, size_t b) const {
  while (a != b) {
    size_t& later = order_[a] > order_[b] ? a : b;
    later = postdominator_[later];
  }
  return a;
}

// A block depends on a branch if it postdominates one of the branch's successors, but not the
// branch.
void ControlFlow::FindDependences() {
  for (size_t branch = 0; branch < blocks_.size(); ++branch) {
    if (blocks_[branch].successors.size() < 2) continue;
    for (size_t block : blocks_[branch].successors) {
      while (block != postdominator_[branch] && block != blocks_.size() &&
             postdominator_[block] != kUnknown) {
        blocks_[block].depends_on.push_back(branch);
        block = postdominator_[block];
      }
    }
  }
}

}  // namespace spirloom::compiler
