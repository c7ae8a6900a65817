#include "integrations/executorch/lower/narrow.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

template <typename T>
T Load(std::span<const std::byte> from, size_t i) {
  T value;
  std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Store(std::span<std::byte> to, size_t i, T value) {
  std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
}

// Rounds to the nearest fp16 value, ties to even.
uint16_t ToF16(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00);
  // Denormals and normals: round to an integer multiple of the binade's step.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int step = std::max(exponent - 11, -24);
  const double step_count = std::nearbyint(std::ldexp(magnitude, -step));
  const double rounded = std::ldexp(step_count, step);
  if (rounded < std::ldexp(1.0, -14)) {
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(rounded, 24)));
  }
  const double mantissa = std::frexp(rounded, &exponent);  // in [0.5, 1)
  const auto fraction = static_cast<uint16_t>(std::ldexp(mantissa, 11) - 1024.0);
  return static_cast<uint16_t>(sign | static_cast<uint16_t>((exponent + 14) << 10) | fraction);
}

template <typename T>
Status StoreInt(double value, std::span<std::byte> to) {
  constexpr double kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  if (!(value >= kMin && value <= kMax) || std::trunc(value) != value) {
    return Error(StatusCode::kInvalidArgument, {"Value (", std::to_string(value),
                                                ") is not an int of ", 8 * sizeof(T), " bits."});
  }
  Store(to, 0, static_cast<T>(value));
  return Status();
}

}  // namespace

Status Narrow(ElementType type, std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t count = from.size() / 8;
  for (size_t i = 0; i < count; ++i) {
    if (type == ElementType::kF64) {
      Store(to, i, static_cast<float>(Load<double>(from, i)));
      continue;
    }
    const auto value = Load<int64_t>(from, i);
    if (value != static_cast<int32_t>(value)) {
      return Error(StatusCode::kInvalidArgument,
                   {"Element ", i, " (", value,
                    ") of an int64 tensor exceeds the 32-bit range of the device."});
    }
    Store(to, i, static_cast<int32_t>(value));
  }
  return Status();
}

void Widen(ElementType type, std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t count = to.size() / 8;
  for (size_t i = 0; i < count; ++i) {
    if (type == ElementType::kF64) {
      Store(to, i, static_cast<double>(Load<float>(from, i)));
    } else {
      Store(to, i, static_cast<int64_t>(Load<int32_t>(from, i)));
    }
  }
}

Status StoreScalar(double value, DType dtype, std::span<std::byte> to) {
  switch (dtype) {
    case DType::kF32:
      Store(to, 0, static_cast<float>(value));
      break;
    case DType::kF16:
      Store(to, 0, ToF16(value));
      break;
    case DType::kI32:
      return StoreInt<int32_t>(value, to);
    case DType::kI8:
      return StoreInt<int8_t>(value, to);
    case DType::kU8:
      return StoreInt<uint8_t>(value, to);
    case DType::kB8:
      Store(to, 0, static_cast<uint8_t>(value != 0.0 ? 1 : 0));
      break;
  }
  return Status();
}

}  // namespace spirloom::delegate
