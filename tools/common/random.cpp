#include "tools/common/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace spirloom::tools {
namespace {

struct Bounds {
  double least;
  double greatest;
};

// Whether some number of the type is ruled out.
bool IsBounded(const TensorInfo& input) {
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int64_t kGreatest = std::numeric_limits<int32_t>::max();
  return input.least > kLeast || input.greatest < kGreatest;
}

Bounds BoundsOf(const TensorInfo& input) {
  const bool bounded = IsBounded(input);
  const Bounds stated = {static_cast<double>(input.least), static_cast<double>(input.greatest)};
  switch (input.dtype) {
    case DType::kF32:
    case DType::kF16:
      return bounded ? stated : Bounds{-1, 1};
    case DType::kI32:
      return bounded ? stated : Bounds{0, 1};
    case DType::kI8:
      return {std::max(stated.least, -128.0), std::min(stated.greatest, 127.0)};
    case DType::kU8:
      return {std::max(stated.least, 0.0), std::min(stated.greatest, 255.0)};
    case DType::kB8:
      break;
  }
  return {0, 1};
}

// From 0, included, to 1: the standard's distributions differ between libraries.
double Fraction(std::mt19937_64& generator) {
  return std::ldexp(static_cast<double>(generator() >> 11), -53);
}

double Real(Bounds bounds, std::mt19937_64& generator) {
  return bounds.least + Fraction(generator) * (bounds.greatest - bounds.least);
}

double Whole(Bounds bounds, std::mt19937_64& generator) {
  const double count = bounds.greatest - bounds.least + 1;
  return std::min(bounds.least + std::floor(Fraction(generator) * count), bounds.greatest);
}

// Numbers from -1 to 1 in steps of 1/1024, which halves hold.
uint16_t Half(std::mt19937_64& generator) {
  const auto steps = static_cast<int>(Whole({-1024, 1024}, generator));
  if (steps == 0) return 0;
  const int exponent = std::ilogb(std::abs(steps));
  const int mantissa = (std::abs(steps) << (10 - exponent)) & 0x3ff;
  return static_cast<uint16_t>((steps < 0 ? 0x8000 : 0) | ((exponent + 5) << 10) | mantissa);
}

template <typename Make>
void Fill(std::span<std::byte> bytes, Make make) {
  using T = decltype(make());
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const T number = make();
    std::memcpy(bytes.data() + at, &number, sizeof(T));
  }
}

template <typename T>
void FillWhole(std::span<std::byte> bytes, Bounds bounds, std::mt19937_64& generator) {
  Fill(bytes, [&] { return static_cast<T>(Whole(bounds, generator)); });
}

}  // namespace

void FillAtRandom(const TensorInfo& input, std::mt19937_64& generator, std::span<std::byte> bytes) {
  const Bounds bounds = BoundsOf(input);
  switch (input.dtype) {
    case DType::kF32:
      Fill(bytes, [&] { return static_cast<float>(Real(bounds, generator)); });
      break;
    case DType::kF16:
      Fill(bytes, [&] { return Half(generator); });
      break;
    case DType::kI32:
      FillWhole<int32_t>(bytes, bounds, generator);
      break;
    case DType::kI8:
      FillWhole<int8_t>(bytes, bounds, generator);
      break;
    case DType::kU8:
    case DType::kB8:
      FillWhole<uint8_t>(bytes, bounds, generator);
      break;
  }
}

}  // namespace spirloom::tools
