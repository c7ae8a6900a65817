// Sizes that are chosen when a graph runs, and what is computed from them.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_EXPR_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_EXPR_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::graph {

// In place of indices of expressions: a number that does not vary, and one that does as its node
// tells.
inline constexpr uint32_t kFixedSize = UINT32_MAX;
inline constexpr uint32_t kInferredSize = UINT32_MAX - 1;

// A size between bounds, both included: 0 <= least <= greatest <= INT32_MAX.
struct Symbol {
  std::string name;
  int64_t least = 0;
  int64_t greatest = 0;
};

// factor times the product of the symbols, which may repeat.
struct SizeTerm {
  int64_t factor = 1;
  std::vector<uint32_t> symbols;
};

// The sum of the terms, divided by `divisor` >= 1 and rounded down.
struct SizeExpr {
  std::vector<SizeTerm> terms;
  int64_t divisor = 1;

  // The symbol that this is, if it is just one.
  std::optional<uint32_t> AsSymbol() const;
};

// The value where symbol i has values[i]. Fails with kInvalidFile when it overflows.
Result<int64_t> Evaluate(const SizeExpr& size, std::span<const int64_t> values);

// Returns e.g. "batch", "12*batch*seq", "(height + 1)/2".
std::string ToString(const SizeExpr& size, std::span<const Symbol> symbols);

// The greatest values of the symbols.
std::vector<int64_t> GreatestValues(std::span<const Symbol> symbols);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_EXPR_H_
