#include "tests/ops/compare.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "runtime/base/elements.h"

namespace spirloom::testing {
namespace {

// Vulkan allows a store to an fp16 image to round toward zero, so that an overflow gives the
// maximum fp16 value instead of infinity.
bool IsFloat16Overflow(double computed, double expected) {
  constexpr double kMaxFloat16 = 65504;
  return std::isinf(expected) && computed == std::copysign(kMaxFloat16, expected);
}

// The distance of a value beyond its tolerance; at most 0 for equal values. Infinite if the values
// have no distance.
double Excess(double computed, double expected, Tolerance tolerance) {
  if (tolerance.signed_zero && computed == 0 && expected == 0 &&
      std::signbit(computed) != std::signbit(expected)) {
    return std::numeric_limits<double>::infinity();
  }
  if (computed == expected || (std::isnan(computed) && std::isnan(expected))) return 0;
  if (!std::isfinite(computed) || !std::isfinite(expected)) {
    return std::numeric_limits<double>::infinity();
  }
  const double excess = std::abs(computed - expected) - tolerance.rtol * std::abs(expected);
  return excess - tolerance.atol;
}

std::string IndexText(size_t flat, const Shape& shape) {
  Shape index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    index[dim] = static_cast<int64_t>(flat % static_cast<size_t>(shape[dim]));
    flat /= static_cast<size_t>(shape[dim]);
  }
  return ToString(index);
}

}  // namespace

std::string Compare(DType dtype, const Shape& shape, std::span<const std::byte> computed,
                    std::span<const std::byte> expected, Tolerance tolerance) {
  const size_t size = ElementSize(dtype);
  const size_t count = expected.size() / size;
  size_t wrong = 0;
  size_t worst = 0;
  double worst_excess = 0;
  for (size_t i = 0; i < count; ++i) {
    const double y = LoadElement(dtype, computed.subspan(i * size, size));
    const double r = LoadElement(dtype, expected.subspan(i * size, size));
    if (dtype == DType::kF16 && IsFloat16Overflow(y, r)) continue;
    const double excess = Excess(y, r, tolerance);
    if (excess <= 0) continue;
    ++wrong;
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (wrong == 0) return "";
  std::ostringstream text;
  text.precision(9);
  text << wrong << " of " << count << " elements of " << ToString(shape)
       << " are wrong; the worst, " << IndexText(worst, shape) << ", is "
       << LoadElement(dtype, computed.subspan(worst * size, size)) << ", expected "
       << LoadElement(dtype, expected.subspan(worst * size, size)) << " (tolerance "
       << tolerance.atol << " + " << tolerance.rtol << " of it).";
  return text.str();
}

}  // namespace spirloom::testing
