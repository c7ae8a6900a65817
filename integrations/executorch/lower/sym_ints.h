// Symbolic ints: integers computed from the input sizes and int inputs of a run.
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

inline constexpr int64_t kMaxSymInt = std::numeric_limits<int32_t>::max();

enum class SymKind : uint8_t {
  kConstant,  // `a`
  kSize,      // dim `b` of input `a`
  kInput,     // input `a`, an int
  kElement,   // element `b` of input `a`, in row-major order
  kAdd,       // operands: steps `a` and `b`; also below
  kSub,
  kMul,
  kFloorDiv,
};

struct SymStep {
  SymKind kind{};
  int64_t a = 0;
  int64_t b = 0;
};

// A step used as an index into a tensor. A run fails if its value is not between 0 and `max`.
struct IndexStep {
  uint32_t step = 0;
  int64_t max = 0;
};

// An input of the graph that receives the value of a step: an i32 tensor with one element, or, if
// the value is a size of the graph, an integer input.
struct IntInput {
  uint32_t step = 0;  // its index
  bool is_size = false;
};

// The inputs of a run.
struct SymBindings {
  std::span<const Shape> shapes;  // of each input; empty for an int
  // Element `i` of a tensor input, or the value of an int input.
  std::function<Result<int64_t>(size_t input, int64_t i)> element;
};

// Returns the value of each step, which may depend on earlier steps. Fails with kInvalidArgument
// for a division by zero and for a value beyond kMaxSymInt.
Result<std::vector<int64_t>> Evaluate(std::span<const SymStep> steps, const SymBindings& bindings);

// floor(polynomial in symbols / divisor): SizeExpr of schema/graph.fbs.
struct SymExpr {
  std::map<std::vector<uint32_t>, int64_t> terms;  // sorted symbols → coefficient, never 0
  int64_t divisor = 1;

  static SymExpr Of(int64_t constant);
  static SymExpr OfSymbol(uint32_t symbol);
  // The value if it does not depend on symbols.
  std::optional<int64_t> AsConstant() const;
};

// Applies `kind`. None if the result is not a SymExpr or exceeds the limits of a graph file.
std::optional<SymExpr> Combine(SymKind kind, const SymExpr& left, const SymExpr& right);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_SYM_INTS_H_
