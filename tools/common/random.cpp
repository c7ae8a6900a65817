#include "tools/common/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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
  switch (input.dtype) {
    case DType::kF32:
    case DType::kF16:
      return bounded ? declared : Bounds{-1, 1};
    case DType::kI32:
      return bounded ? declared : Bounds{0, 1};
    case DType::kI8:
      return {std::max(declared.min, -128.0), std::min(declared.max, 127.0)};
    case DType::kU8:
      return {std::max(declared.min, 0.0), std::min(declared.max, 255.0)};
    case DType::kB8:
      break;
  }
  return {0, 1};
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

// An fp16 value from -1 to 1, a multiple of 1/1024.
uint16_t RandomF16(std::mt19937_64& generator) {
  const auto steps = static_cast<int>(RandomInteger({-1024, 1024}, generator));
  if (steps == 0) return 0;
  const int exponent = std::ilogb(std::abs(steps));
  const int mantissa = (std::abs(steps) << (10 - exponent)) & 0x3ff;
  return static_cast<uint16_t>((steps < 0 ? 0x8000 : 0) | ((exponent + 5) << 10) | mantissa);
}

template <typename Make>
void Fill(std::span<std::byte> bytes, Make make) {
  using T = decltype(make());
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const T value = make();
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

template <typename T>
void FillIntegers(std::span<std::byte> bytes, Bounds bounds, std::mt19937_64& generator) {
  Fill(bytes, [&] { return static_cast<T>(RandomInteger(bounds, generator)); });
}

}  // namespace

void FillRandom(const TensorInfo& input, std::mt19937_64& generator, std::span<std::byte> bytes) {
  const Bounds bounds = BoundsOf(input);
  switch (input.dtype) {
    case DType::kF32:
      Fill(bytes, [&] { return static_cast<float>(RandomReal(bounds, generator)); });
      break;
    case DType::kF16:
      Fill(bytes, [&] { return RandomF16(generator); });
      break;
    case DType::kI32:
      FillIntegers<int32_t>(bytes, bounds, generator);
      break;
    case DType::kI8:
      FillIntegers<int8_t>(bytes, bounds, generator);
      break;
    case DType::kU8:
    case DType::kB8:
      FillIntegers<uint8_t>(bytes, bounds, generator);
      break;
  }
}

}  // namespace spirloom::tools
