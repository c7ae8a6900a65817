#include "tools/common/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/data_types.h"
#include "runtime/base/elements.h"

namespace spirloom::tools {
namespace {

struct Bounds {
  double min;
  double max;
};

// Whether the input has bounds within int32.
bool IsBounded(const TensorInfo& input) {
  constexpr int64_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  return input.min > kMin || input.max < kMax;
}

Bounds BoundsOf(const TensorInfo& input) {
  const bool bounded = IsBounded(input);
  const Bounds declared = {static_cast<double>(input.min), static_cast<double>(input.max)};
  const DTypeInfo& type = InfoOf(input.dtype);
  if (type.IsFloat()) return bounded ? declared : Bounds{-1, 1};
  // Unbounded integers of 32 bits are indices more often than data.
  if (type.kind == DTypeKind::kBool || (!bounded && type.size == 4)) return {0, 1};
  return {std::max(declared.min, type.min), std::min(declared.max, type.max)};
}

// A value in [0, 1). The distributions of the standard library differ between implementations.
double Fraction(std::mt19937_64& generator) {
  return std::ldexp(static_cast<double>(generator() >> 11), -53);
}

double RandomReal(Bounds bounds, std::mt19937_64& generator) {
  return bounds.min + Fraction(generator) * (bounds.max - bounds.min);
}

double RandomInteger(Bounds bounds, std::mt19937_64& generator) {
  const double count = bounds.max - bounds.min + 1;
  return std::min(bounds.min + std::floor(Fraction(generator) * count), bounds.max);
}

// float32 from the bounds. Narrower floats from -1 to 1 in steps of 1/1024, a multiple of which
// fp16 represents exactly.
double RandomFloat(DType dtype, Bounds bounds, std::mt19937_64& generator) {
  if (InfoOf(dtype).size == sizeof(float)) return RandomReal(bounds, generator);
  return RandomInteger({-1024, 1024}, generator) / 1024;
}

}  // namespace

void FillRandom(const TensorInfo& input, std::mt19937_64& generator, std::span<std::byte> bytes) {
  const Bounds bounds = BoundsOf(input);
  const DTypeInfo& type = InfoOf(input.dtype);
  for (size_t at = 0; at + type.size <= bytes.size(); at += type.size) {
    const double value = type.IsFloat() ? RandomFloat(input.dtype, bounds, generator)
                                        : RandomInteger(bounds, generator);
    StoreElement(input.dtype, value, bytes.subspan(at, type.size));
  }
}

}  // namespace spirloom::tools
