#include "runtime/graph/file/number_expr.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace spirloom::graph {
namespace {

// Rounds to single precision. Values beyond its range become infinite.
double RoundToFloat32(double x) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (std::abs(x) > kMax) return std::copysign(std::numeric_limits<double>::infinity(), x);
  return static_cast<float>(x);
}

double Compute(const NumberExpr& number, double a, double b, double c,
               std::span<const int64_t> sizes) {
  switch (number.op) {
    case NumberOp::kConstant:
      return number.value;
    case NumberOp::kSize:
      return static_cast<double>(sizes[number.size]);
    case NumberOp::kSqrt:
      return std::sqrt(a);
    case NumberOp::kExp:
      return std::exp(a);
    case NumberOp::kLog:
      return std::log(a);
    case NumberOp::kFloor:
      return std::floor(a);
    case NumberOp::kCeil:
      return std::ceil(a);
    case NumberOp::kRound:
      return std::nearbyint(a);
    case NumberOp::kFloat32:
      return RoundToFloat32(a);
    case NumberOp::kAdd:
      return a + b;
    case NumberOp::kSub:
      return a - b;
    case NumberOp::kMul:
      return a * b;
    case NumberOp::kDiv:
      return a / b;
    case NumberOp::kPow:
      return std::pow(a, b);
    case NumberOp::kMin:
      return std::min(a, b);
    case NumberOp::kMax:
      return std::max(a, b);
    case NumberOp::kSelect:
      return a != 0 ? b : c;
  }
  return 0;
}

}  // namespace

size_t OperandsOf(NumberOp op) {
  if (op <= NumberOp::kSize) return 0;
  if (op <= NumberOp::kFloat32) return 1;
  return op == NumberOp::kSelect ? 3 : 2;
}

std::vector<double> Evaluate(std::span<const NumberExpr> numbers, std::span<const int64_t> sizes) {
  std::vector<double> found;
  found.reserve(numbers.size());
  for (const NumberExpr& number : numbers) {
    std::array<double, 3> x{};
    for (size_t i = 0; i < number.operands.size(); ++i) x[i] = found[number.operands[i]];
    found.push_back(Compute(number, x[0], x[1], x[2], sizes));
  }
  return found;
}

}  // namespace spirloom::graph
