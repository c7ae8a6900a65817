#include "tests/ops/compare.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace spirloom::testing {
namespace {

template <typename T>
T Load(std::span<const std::byte> bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// A double represents the values of all dtypes exactly.
double Element(DType dtype, std::span<const std::byte> bytes, size_t i) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<double>(Load<float>(bytes, i));
    case DType::kF16:
      return Float16ToDouble(Load<uint16_t>(bytes, i));
    case DType::kI32:
      return Load<int32_t>(bytes, i);
    case DType::kI8:
      return Load<int8_t>(bytes, i);
    case DType::kU8:
    case DType::kB8:
      return Load<uint8_t>(bytes, i);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

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

double Float16ToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double magnitude;
  if (exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::string Compare(DType dtype, const Shape& shape, std::span<const std::byte> computed,
                    std::span<const std::byte> expected, Tolerance tolerance) {
  const size_t count = expected.size() / ElementSize(dtype);
  size_t wrong = 0;
  size_t worst = 0;
  double worst_excess = 0;
  for (size_t i = 0; i < count; ++i) {
    const double y = Element(dtype, computed, i);
    const double r = Element(dtype, expected, i);
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
       << Element(dtype, computed, worst) << ", expected " << Element(dtype, expected, worst)
       << " (tolerance " << tolerance.atol << " + " << tolerance.rtol << " of it).";
  return text.str();
}

}  // namespace spirloom::testing
