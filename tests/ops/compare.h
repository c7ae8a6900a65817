// Compares a computed tensor with the reference's.
#ifndef SPIRLOOM_TESTS_OPS_COMPARE_H_
#define SPIRLOOM_TESTS_OPS_COMPARE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "spirloom/types.h"

namespace spirloom::testing {

// A value y passes against r when |y - r| <= atol + rtol * |r|. NaN equals NaN, an infinity itself.
struct Tolerance {
  double rtol;
  double atol;
  bool signed_zero = false;  // 0 and -0 differ
};

// The value of an IEEE half-precision number.
double HalfToDouble(uint16_t bits);

// Returns "" when every element passes; else how many do not, and the worst one's index, both
// values and the tolerance. Both spans hold `shape`'s elements, dense.
std::string Compare(DType dtype, const Shape& shape, std::span<const std::byte> computed,
                    std::span<const std::byte> expected, Tolerance tolerance);

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_COMPARE_H_
