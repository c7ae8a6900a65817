// The control-flow graph of a SPIR-V function, and which of its branches each block depends on.
#ifndef SPIRLOOM_COMPILER_CONTROL_FLOW_H_
#define SPIRLOOM_COMPILER_CONTROL_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "compiler/spirv_walker.h"

namespace spirloom::compiler {

// A straight run of instructions, the label's excluded, the terminator's included.
struct Block {
  uint32_t label = 0;
  std::span<const Instruction> instructions;
  std::vector<size_t> successors;  // distinct
  std::vector<size_t> predecessors;
  // The branches that decide whether, or how often, the block runs: control dependence.
  std::vector<size_t> depends_on;
  // False for a block from which no path leads out of the function; its dependences are unknown.
  bool can_exit = false;

  const Instruction& terminator() const { return instructions.back(); }
};

class ControlFlow {
 public:
  // `body` is a function's instructions up to OpFunctionEnd.
  explicit ControlFlow(std::span<const Instruction> body);

  const std::vector<Block>& blocks() const { return blocks_; }
  // The block that begins with this label.
  size_t BlockOf(uint32_t label) const { return by_label_.at(label); }

 private:
  void Split(std::span<const Instruction> body);
  void Connect();
  // The blocks that an exit can be reached from, in postorder of walks against the edges.
  std::vector<size_t> PostorderFromExits();
  void FindPostdominators();
  void FindDependences();
  size_t CommonPostdominator(size_t a, size_t b) const;

  std::vector<Block> blocks_;
  std::map<uint32_t, size_t> by_label_;
  // By block, and for the exit, which has the number blocks_.size(): the immediate postdominator,
  // and the place in an order in which every block comes after its postdominators.
  std::vector<size_t> postdominator_;
  std::vector<size_t> order_;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CONTROL_FLOW_H_
