// Validation of formulas: complete, well-typed, of bounded depth.
#ifndef SPIRLOOM_RUNTIME_OPS_FORMULA_CHECK_H_
#define SPIRLOOM_RUNTIME_OPS_FORMULA_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/ops/registry.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// Maximum nesting of nodes, including the lets that a formula uses. Bounds the evaluator's stack to
// about 2 KiB per node, for threads with 512 KiB.
inline constexpr uint32_t kMaxFormulaDepth = 128;
// Maximum nesting of comprehensions.
inline constexpr size_t kMaxLoops = 8;

// The names that a formula can use.
struct FormulaNames {
  std::span<const ArgInfo> args;
  std::span<const LetInfo> lets;
  size_t outputs = 0;
};

struct FormulaType {
  ValueKind kind{};
  uint32_t depth = 0;
};

// Checks that the bytes are one formula over `names` with operands of the correct kinds. Fails with
// kInvalidFile, the byte position and the problem.
Result<FormulaType> CheckFormula(Formula formula, const FormulaNames& names);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_FORMULA_CHECK_H_
