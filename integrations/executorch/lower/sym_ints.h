// Whole numbers that follow from the sizes and numbers that a run is given.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_SYM_INTS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_SYM_INTS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::delegate {

inline constexpr int64_t kMostSize = std::numeric_limits<int32_t>::max();

enum class SymKind : uint8_t {
  kConstant,  // `a`
  kSize,      // dim `b` of input `a`
  kInput,     // input `a`, a number
  kElement,   // element `b` of input `a`, counted in row-major order
  kAdd,       // of steps `a` and `b`, as those below
  kSub,
  kMul,
  kFloorDiv,
};

struct SymStep {
  SymKind kind{};
  int64_t a = 0;
  int64_t b = 0;
};

// A step that is a place in a tensor: a run in which it is not between 0 and `most` fails.
struct PlaceStep {
  uint32_t step = 0;
  int64_t most = 0;
};

// What a run is given.
struct SymFacts {
  std::span<const Shape> shapes;  // of each input; of a number's nothing
  // Element `i` of an input, or the number that it is.
  std::function<Result<int64_t>(size_t input, int64_t i)> element;
};

// The value of each step, which uses those before it. Fails with kInvalidArgument for a division by
// zero, and for numbers beyond 32 bits, which no size is.
Result<std::vector<int64_t>> Evaluate(std::span<const SymStep> steps, const SymFacts& facts);

// A sum of products of symbols, divided and rounded down: what a graph file can say of a size
// (schema/graph.fbs).
struct SymExpr {
  std::map<std::vector<uint32_t>, int64_t> terms;  // symbols in order → factor, never 0
  int64_t divisor = 1;

  static SymExpr Of(int64_t constant);
  static SymExpr OfSymbol(uint32_t symbol);
  // The number that it is whatever the symbols are.
  std::optional<int64_t> AsConstant() const;
};

// What `kind` makes of two; none if that is no SymExpr, or one too long for a graph file.
std::optional<SymExpr> Combine(SymKind kind, const SymExpr& left, const SymExpr& right);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_SYM_INTS_H_
