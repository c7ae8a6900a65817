// Symbolic sizes of dynamic shapes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_EXPR_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_EXPR_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::graph {

// Special values of indices into Graph::sizes: a fixed value, and a value inferred from the node.
inline constexpr uint32_t kFixedSize = UINT32_MAX;
inline constexpr uint32_t kInferredSize = UINT32_MAX - 1;

// A size with inclusive bounds: 0 <= min <= max <= INT32_MAX.
struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = 0;
};

// An integer that runs are given: the value of a symbol.
struct IntInput {
  std::string name;
  uint32_t symbol = 0;
  uint32_t position = 0;  // number of tensor inputs before it in the order of the model's arguments
};

// `factor` times the product of the symbols and of the values of size expressions, which may
// repeat.
struct SizeTerm {
  int64_t factor = 1;
  std::vector<uint32_t> symbols;
  std::vector<uint32_t> sizes = {};  // indices of earlier expressions
};

enum class SizeOp : uint8_t { kSum, kMin, kMax };

// factor * symbol + offset, with factor >= 1: a size that determines the symbol.
struct LinearSize {
  uint32_t symbol = 0;
  int64_t factor = 1;
  int64_t offset = 0;
};

// The sum, minimum or maximum of the terms, divided by `divisor` >= 1 and rounded down.
struct SizeExpr {
  std::vector<SizeTerm> terms;  // at least one, unless it is a sum
  int64_t divisor = 1;
  SizeOp op = SizeOp::kSum;

  // Returns the expression if it is a sum with one term with a symbol, no other symbols or sizes
  // and no divisor.
  std::optional<LinearSize> AsLinear() const;
};

// Returns the value of each expression for values[i] of symbol i. Fails with kInvalidFile on
// overflow.
Result<std::vector<int64_t>> Evaluate(std::span<const SizeExpr> sizes,
                                      std::span<const int64_t> values);

// Returns the text of sizes[index], e.g. "batch", "12*batch*seq", "(height + 1)/2", "min(seq, 8)".
// Long texts are cut.
std::string ToString(std::span<const SizeExpr> sizes, uint32_t index,
                     std::span<const Symbol> symbols);

// Returns the maximum of each symbol.
std::vector<int64_t> MaxValues(std::span<const Symbol> symbols);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_EXPR_H_
