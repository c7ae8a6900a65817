// Numbers that depend on dynamic sizes, such as 1 / sqrt(n).
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_NUMBER_EXPR_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_NUMBER_EXPR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::graph {

// The operations of schema/graph.fbs, in its order.
enum class NumberOp : uint8_t {
  kConstant,
  kSize,
  kSqrt,
  kExp,
  kLog,
  kFloor,
  kCeil,
  kRound,
  kFloat32,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMin,
  kMax,
  kSelect,
};

// Returns the number of operands, 0 to 3.
size_t OperandsOf(NumberOp op);

// An operation on a constant, a size or earlier expressions.
struct NumberExpr {
  NumberOp op = NumberOp::kConstant;
  double value = 0;                // of kConstant
  uint32_t size = 0;               // of kSize, an index into Graph::sizes
  std::vector<uint32_t> operands;  // indices of earlier expressions, OperandsOf(op)
};

// Returns the value of each expression for the values of all sizes, in double precision.
std::vector<double> Evaluate(std::span<const NumberExpr> numbers, std::span<const int64_t> sizes);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_NUMBER_EXPR_H_
