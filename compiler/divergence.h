// Which values, branches and blocks of a SPIR-V function may differ between the invocations of a
// workgroup.
#ifndef SPIRLOOM_COMPILER_DIVERGENCE_H_
#define SPIRLOOM_COMPILER_DIVERGENCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "compiler/control_flow.h"
#include "compiler/spirv_index.h"

namespace spirloom::compiler {

// Starts from nothing and adds until no rule adds more. Errs on the safe side. Refers to the
// arguments of its constructor.
class Divergence {
 public:
  Divergence(const SpirvIndex& index, const ControlFlow& flow);

  // Whether some invocations may run the block less often than others.
  bool BlockDiverges(size_t block) const { return blocks_.contains(block); }
  // Whether invocations that reach the end of the block may leave it on different edges.
  bool BranchDiverges(size_t block) const;
  // Whether the instruction's result is equal in all invocations when its operands are.
  static bool IsPure(const Instruction& in);

 private:
  // What a variable holds, as far as divergence is concerned.
  enum class Memory : uint8_t {
    kUniform,    // equal in all invocations, and never written
    kOwn,        // each invocation has its own: equal until something divergent is stored
    kDivergent,  // anything may be there
  };

  static Memory MemoryOf(const SpirvIndex& index, const Instruction& variable);

  template <typename T>
  void Add(std::set<T>& set, T element) {
    changed_ = set.insert(element).second || changed_;
  }

  void AddVariable(const Instruction& variable);
  void SpreadTo(size_t number);
  void Spread(const Instruction& in, size_t block);
  void SpreadThrough(const Instruction& in);
  // Invocations may come to the block on different edges, or with different values.
  bool PhiDiverges(const Instruction& phi) const;
  bool LoadDiverges(uint32_t pointer) const;
  // The variable behind `pointer`, if it is one, may hold different values.
  void Spoil(uint32_t pointer);

  const SpirvIndex& index_;
  const ControlFlow& flow_;
  std::set<uint32_t> values_;  // ids
  std::set<size_t> blocks_;
  std::map<uint32_t, uint32_t> roots_;  // pointer -> the variable that it points into
  std::map<uint32_t, Memory> memory_;   // by variable
  std::set<uint32_t> spoilt_;           // variables of Memory::kOwn that hold something divergent
  bool changed_ = true;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_DIVERGENCE_H_
