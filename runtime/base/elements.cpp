#include "runtime/base/elements.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/base/data_types.h"

namespace spirloom {
namespace {

int Bias(const DTypeInfo& type) { return (1 << (type.exponent_bits - 1)) - 1; }

// Types whose maximum has all exponent bits set have no infinity: there, only a mantissa of ones is
// NaN.
bool HasInfinity(const DTypeInfo& type) {
  return type.max < std::ldexp(1.0, (1 << type.exponent_bits) - 1 - Bias(type));
}

double FloatOf(const DTypeInfo& type, uint32_t bits) {
  const uint32_t exponent_ones = (1U << type.exponent_bits) - 1;
  const uint32_t mantissa_ones = (1U << type.mantissa_bits) - 1;
  const uint32_t exponent = bits >> type.mantissa_bits & exponent_ones;
  const uint32_t mantissa = bits & mantissa_ones;
  double magnitude = 0;
  if (exponent == exponent_ones && (HasInfinity(type) || mantissa == mantissa_ones)) {
    magnitude = HasInfinity(type) && mantissa == 0 ? std::numeric_limits<double>::infinity()
                                                   : std::numeric_limits<double>::quiet_NaN();
  } else {
    // Denormals have the exponent of the smallest normal values and no leading one.
    const uint32_t leading = exponent == 0 ? 0 : mantissa_ones + 1;
    const int scale = std::max(static_cast<int>(exponent), 1) - Bias(type) - type.mantissa_bits;
    magnitude = std::ldexp(static_cast<double>(leading + mantissa), scale);
  }
  const bool negative = (bits >> (type.exponent_bits + type.mantissa_bits) & 1) != 0;
  return negative ? -magnitude : magnitude;
}

uint32_t FloatBits(const DTypeInfo& type, double value) {
  const uint32_t sign = std::signbit(value) ? 1U << (type.exponent_bits + type.mantissa_bits) : 0;
  const uint32_t exponent_ones = (1U << type.exponent_bits) - 1;
  const uint32_t mantissa_ones = (1U << type.mantissa_bits) - 1;
  const uint32_t top = exponent_ones << type.mantissa_bits;
  // IEEE types: a quiet NaN.
  const uint32_t nan = top | (HasInfinity(type) ? 1U << (type.mantissa_bits - 1) : mantissa_ones);
  if (std::isnan(value)) return sign | nan;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  // Rounds to a multiple of the step of the value's binade, or of the denormals.
  const int exponent =
      std::isinf(magnitude) ? 2000 : std::max(std::ilogb(magnitude), 1 - Bias(type));
  const double count = std::isinf(magnitude)
                           ? magnitude
                           : std::nearbyint(std::ldexp(magnitude, type.mantissa_bits - exponent));
  if (std::ldexp(count, exponent - type.mantissa_bits) > type.max) {
    return sign | (HasInfinity(type) ? top : nan - 1);
  }
  // A count of 2^(mantissa + 1) carries into the exponent.
  const auto steps = static_cast<uint32_t>(count);
  return sign | ((static_cast<uint32_t>(exponent + Bias(type) - 1) << type.mantissa_bits) + steps);
}

template <typename T>
double LoadAs(const DTypeInfo& type, std::span<const std::byte> element) {
  T value;
  std::memcpy(&value, element.data(), sizeof(T));
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<double>(value);
  } else {
    return type.IsFloat() ? FloatOf(type, static_cast<uint32_t>(value))
                          : static_cast<double>(value);
  }
}

template <typename T>
void StoreAs(const DTypeInfo& type, double value, std::span<std::byte> element) {
  T stored;
  if constexpr (std::is_same_v<T, float>) {
    stored = static_cast<float>(value);
  } else if (type.IsFloat()) {
    stored = static_cast<T>(FloatBits(type, value));
  } else {
    stored = static_cast<T>(type.kind == DTypeKind::kBool ? (value != 0 ? 1.0 : 0.0) : value);
  }
  std::memcpy(element.data(), &stored, sizeof(T));
}

}  // namespace

double LoadElement(DType dtype, std::span<const std::byte> element) {
  switch (dtype) {
#define SPIRLOOM_DTYPE(id, name, long_name, kind, exponent, mantissa, c_type, ...) \
  case DType::k##id:                                                               \
    return LoadAs<c_type>(InfoOf(dtype), element);
#include "spec_model/data_types.inc"
#undef SPIRLOOM_DTYPE
  }
  return 0;
}

void StoreElement(DType dtype, double value, std::span<std::byte> element) {
  switch (dtype) {
#define SPIRLOOM_DTYPE(id, name, long_name, kind, exponent, mantissa, c_type, ...) \
  case DType::k##id:                                                               \
    return StoreAs<c_type>(InfoOf(dtype), value, element);
#include "spec_model/data_types.inc"
#undef SPIRLOOM_DTYPE
  }
}

}  // namespace spirloom
