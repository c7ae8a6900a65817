// Compares a computed tensor with the reference.
#ifndef SPIRLOOM_TESTS_OPS_COMPARE_H_
#define SPIRLOOM_TESTS_OPS_COMPARE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "spirloom/types.h"

namespace spirloom::testing {

// A value y equals the reference r if |y - r| <= atol + rtol * |r|. NaN equals NaN, and an infinity
// equals itself.
struct Tolerance {
  double rtol;
  double atol;
  bool signed_zero = false;  // whether 0 and -0 differ
};

// Returns "" if all elements are equal within the tolerance. Otherwise returns the number of wrong
// elements, and the index, values and tolerance of the worst one. Both spans are dense.
std::string Compare(DType dtype, const Shape& shape, std::span<const std::byte> computed,
                    std::span<const std::byte> expected, Tolerance tolerance);

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_COMPARE_H_
