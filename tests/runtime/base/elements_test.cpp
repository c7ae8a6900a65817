#include "runtime/base/elements.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "runtime/base/data_types.h"

namespace spirloom {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double F16(uint16_t bits) { return LoadElement(DType::kF16, std::as_bytes(std::span(&bits, 1))); }

TEST(LoadElement, ConvertsNormalDenormalAndSpecialFp16) {
  EXPECT_EQ(F16(0x3C00), 1.0);
  EXPECT_EQ(F16(0xC000), -2.0);
  EXPECT_EQ(F16(0x7BFF), 65504.0);
  EXPECT_EQ(F16(0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(F16(0x0400), std::ldexp(1.0, -14));
  EXPECT_EQ(F16(0xFC00), -kInfinity);
  EXPECT_TRUE(std::isnan(F16(0x7E00)));
  EXPECT_TRUE(std::signbit(F16(0x8000)));
}

// Every code of a dtype of one or two bytes is its own conversion to a number and back, except that
// NaNs may change their payload, and bools become 0 or 1.
TEST(StoreElement, InvertsLoadElement) {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    const size_t size = kDTypes[i].size;
    if (size > 2 || kDTypes[i].kind == DTypeKind::kBool) continue;
    for (uint32_t code = 0; code < 1U << (8 * size); ++code) {
      std::array<std::byte, 2> stored{}, again{};
      for (size_t k = 0; k < size; ++k) stored[k] = static_cast<std::byte>(code >> (8 * k) & 255);
      const double value = LoadElement(dtype, std::span(stored).first(size));
      StoreElement(dtype, value, std::span(again).first(size));
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(LoadElement(dtype, std::span(again).first(size))));
      } else {
        EXPECT_EQ(stored, again) << kDTypes[i].name << " " << code;
      }
    }
  }
}

TEST(StoreElement, StoresTheLimitsOfTheTable) {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    for (const double value : {kDTypes[i].min, kDTypes[i].max}) {
      std::array<std::byte, 4> stored{};
      const auto dtype = static_cast<DType>(i);
      StoreElement(dtype, value, std::span(stored).first(kDTypes[i].size));
      EXPECT_EQ(LoadElement(dtype, std::span(stored).first(kDTypes[i].size)), value);
    }
  }
}

}  // namespace
}  // namespace spirloom
