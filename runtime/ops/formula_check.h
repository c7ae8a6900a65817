// What a formula must be before it is evaluated: whole, typed, of bounded depth.
#ifndef SPIRLOOM_RUNTIME_OPS_FORMULA_CHECK_H_
#define SPIRLOOM_RUNTIME_OPS_FORMULA_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/ops/registry.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// Of nodes within one another, those of the lets in use included. Bounds the evaluator's stack,
// some 2 KiB a node, for threads that have 512 KiB.
inline constexpr uint32_t kMaxFormulaDepth = 128;
// Of comprehensions within one another.
inline constexpr size_t kMaxLoops = 8;

// What a formula may name.
struct FormulaNames {
  std::span<const ArgInfo> args;
  std::span<const LetInfo> lets;
  size_t outputs = 0;
};

struct FormulaFacts {
  ValueKind kind{};
  uint32_t depth = 0;
};

// Checks that the bytes are one formula over `names`, every operand of the kind its operation
// takes. Fails with kInvalidFile, naming the byte and what is wrong with it.
Result<FormulaFacts> CheckFormula(Formula formula, const FormulaNames& names);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_FORMULA_CHECK_H_
