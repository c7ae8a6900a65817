// The control-flow graph of a SPIR-V function, with control dependences.
#ifndef SPIRLOOM_COMPILER_CHECKS_CONTROL_FLOW_H_
#define SPIRLOOM_COMPILER_CHECKS_CONTROL_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {

// A basic block: the instructions after its label, including the terminator.
struct Block {
  uint32_t label = 0;
  std::span<const Instruction> instructions;
  std::vector<size_t> successors;  // distinct
  std::vector<size_t> predecessors;
  // The blocks whose branches decide whether, or how often, this block runs (control dependence).
  std::vector<size_t> depends_on;
  // False if no path leads from the block to a function exit; its dependences are then unknown.
  bool can_exit = false;

  const Instruction& terminator() const { return instructions.back(); }
};

class ControlFlow {
 public:
  // `body` contains the instructions of a function before OpFunctionEnd.
  explicit ControlFlow(std::span<const Instruction> body);

  const std::vector<Block>& blocks() const { return blocks_; }
  // The block that begins with this label.
  size_t BlockOf(uint32_t label) const { return by_label_.at(label); }

 private:
  void Split(std::span<const Instruction> body);
  void Connect();
  // The blocks from which an exit can be reached, in postorder of the reversed graph.
  std::vector<size_t> PostorderFromExits();
  void FindPostdominators();
  void FindDependences();
  size_t CommonPostdominator(size_t a, size_t b) const;

  std::vector<Block> blocks_;
  std::map<uint32_t, size_t> by_label_;
  // Indexed by block, and by blocks_.size() for the exit: the immediate postdominator, and a rank
  // that is higher than the ranks of all postdominators.
  std::vector<size_t> postdominator_;
  std::vector<size_t> order_;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CHECKS_CONTROL_FLOW_H_
