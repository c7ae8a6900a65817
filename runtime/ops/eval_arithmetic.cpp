// Arithmetic of the expression language: int64 with overflow checks, rounding like Python.
#include <limits>

#include "runtime/base/text.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/eval_text.h"

namespace spirloom::ops {
namespace {

constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();

// Two's complement, without undefined overflow.
uint64_t Bits(int64_t value) { return static_cast<uint64_t>(value); }

}  // namespace

int64_t Eval::Add(int64_t a, int64_t b) {
  const auto sum = static_cast<int64_t>(Bits(a) + Bits(b));
  if (((a ^ sum) & (b ^ sum)) >= 0) return sum;  // the sign is that of one operand
  Fail("{} overflows int64.", OperationText(a, "+", b));
  return 0;
}

int64_t Eval::Sub(int64_t a, int64_t b) {
  const auto difference = static_cast<int64_t>(Bits(a) - Bits(b));
  if (((a ^ b) & (a ^ difference)) >= 0) return difference;
  Fail("{} overflows int64.", OperationText(a, "-", b));
  return 0;
}

int64_t Eval::Mul(int64_t a, int64_t b) {
  const auto product = static_cast<int64_t>(Bits(a) * Bits(b));
  const bool is_min_negated = (a == -1 && b == kInt64Min) || (b == -1 && a == kInt64Min);
  if (!is_min_negated && (a == 0 || product / a == b)) return product;
  Fail("{} overflows int64.", OperationText(a, "*", b));
  return 0;
}

int64_t Eval::Neg(int64_t a) { return Sub(0, a); }

int64_t Eval::FloorDiv(int64_t a, int64_t b) {
  if (b == 0) {
    Fail("{} divides by zero.", OperationText(a, "//", b));
    return 0;
  }
  if (a == kInt64Min && b == -1) {
    Fail("{} overflows int64.", OperationText(a, "//", b));
    return 0;
  }
  const bool rounds_up = a % b != 0 && (a < 0) != (b < 0);
  return a / b - (rounds_up ? 1 : 0);
}

int64_t Eval::Mod(int64_t a, int64_t b) {
  if (b == 0) {
    Fail("{} divides by zero.", OperationText(a, "%", b));
    return 0;
  }
  if (b == -1) return 0;  // INT64_MIN % -1 traps on x86
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

int64_t Eval::CeilDiv(int64_t a, int64_t b) {
  const int64_t floor = FloorDiv(a, b);
  return ok() && Mod(a, b) != 0 ? Add(floor, 1) : floor;
}

int64_t Eval::RoundUp(int64_t a, int64_t multiple) { return Mul(CeilDiv(a, multiple), multiple); }

int64_t Eval::Abs(int64_t a) { return a < 0 ? Neg(a) : a; }

int64_t Eval::ToInt(double a) {
  // 2^63 is representable as double, INT64_MAX is not.
  if (a >= -0x1p63 && a < 0x1p63) return static_cast<int64_t>(a);
  Fail("The float {} is outside int64.", std::to_string(a));
  return 0;
}

}  // namespace spirloom::ops
