// Divergence analysis: finds the values, branches and blocks of a SPIR-V function that may differ
// between the invocations of a workgroup or of a subgroup.
#ifndef SPIRLOOM_COMPILER_CHECKS_DIVERGENCE_H_
#define SPIRLOOM_COMPILER_CHECKS_DIVERGENCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>

#include "compiler/checks/control_flow.h"
#include "compiler/spirv/spirv_index.h"

namespace spirloom::compiler {

// Applies the rules until a fixed point. Conservative: reports divergence if unsure. References the
// arguments of its constructor, which must outlive it.
class Divergence {
 public:
  // `scope`: ScopeWorkgroup or ScopeSubgroup, the invocations that are compared.
  Divergence(const SpirvIndex& index, const ControlFlow& flow, spv::Scope scope);

  // Whether invocations may execute the block a different number of times.
  bool BlockDiverges(size_t block) const { return blocks_.contains(block); }
  // Whether invocations may leave the block on different edges.
  bool BranchDiverges(size_t block) const;
  // Whether uniform operands give a uniform result.
  static bool IsPure(const Instruction& in);

 private:
  // Classes of variables.
  enum class Memory : uint8_t {
    kUniform,    // equal in the invocations of the scope, and never written
    kPrivate,    // one per invocation: uniform until a divergent store
    kShared,     // equal between two barriers, if nothing is written there
    kDivergent,  // always treated as divergent
  };

  Memory MemoryOf(const Instruction& variable) const;

  template <typename T>
  void Add(std::set<T>& set, T element) {
    changed_ = set.insert(element).second || changed_;
  }

  void AddVariable(const Instruction& variable);
  void PropagateToBlock(size_t block_index);
  void Propagate(const Instruction& in, size_t block);
  void PropagateOperands(const Instruction& in);
  // Whether invocations may enter the block on different edges, or with different values.
  bool PhiDiverges(const Instruction& phi) const;
  bool LoadDiverges(const Instruction& load, size_t block) const;
  // Whether the instruction is between two workgroup barriers of the block, and no instruction
  // between them may write shared memory: all invocations that execute it read the same contents.
  bool IsBetweenBarriers(const Instruction& in, size_t block) const;
  bool IsWorkgroupBarrier(const Instruction& in) const;
  bool MayWriteShared(const Instruction& in) const;
  // Marks the variable that `pointer` references, if known, as divergent.
  void MarkDivergent(uint32_t pointer);

  const SpirvIndex& index_;
  const ControlFlow& flow_;
  const spv::Scope scope_;
  std::set<uint32_t> values_;  // ids
  std::set<size_t> blocks_;
  std::map<uint32_t, uint32_t> roots_;      // pointer -> variable
  std::map<uint32_t, Memory> memory_;       // by variable
  std::set<uint32_t> divergent_variables_;  // of Memory::kPrivate, with divergent contents
  bool changed_ = true;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CHECKS_DIVERGENCE_H_
