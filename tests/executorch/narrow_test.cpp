#include "integrations/executorch/lower/narrow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace spirloom::delegate {
namespace {

using testing::HasSubstr;

TEST(Narrow, PreservesIntsInRange) {
  const std::array<int64_t, 3> wide{-2147483648LL, 0, 2147483647LL};
  std::array<int32_t, 3> narrow{};
  ASSERT_TRUE(Narrow(ElementType::kI64, std::as_bytes(std::span(wide)),
                     std::as_writable_bytes(std::span(narrow)))
                  .ok());
  std::array<int64_t, 3> back{};
  Widen(ElementType::kI64, std::as_bytes(std::span(narrow)),
        std::as_writable_bytes(std::span(back)));
  EXPECT_EQ(back, wide);
}

TEST(Narrow, RejectsIntsOutOfRange) {
  for (const int64_t value : {2147483648LL, -2147483649LL, 1LL << 40}) {
    const std::array<int64_t, 2> wide{1, value};
    std::array<int32_t, 2> narrow{};
    const Status status = Narrow(ElementType::kI64, std::as_bytes(std::span(wide)),
                                 std::as_writable_bytes(std::span(narrow)));
    EXPECT_THAT(status.message(), HasSubstr("Element 1 (" + std::to_string(value) + ")"));
  }
}

TEST(Narrow, RoundsFloats) {
  const std::array<double, 2> wide{0.1, -1e300};
  std::array<float, 2> narrow{};
  ASSERT_TRUE(Narrow(ElementType::kF64, std::as_bytes(std::span(wide)),
                     std::as_writable_bytes(std::span(narrow)))
                  .ok());
  EXPECT_EQ(narrow[0], 0.1F);
  EXPECT_EQ(narrow[1], -std::numeric_limits<float>::infinity());
}

uint16_t F16Of(double number) {
  uint16_t bits = 0;
  EXPECT_TRUE(StoreScalar(number, DType::kF16, std::as_writable_bytes(std::span(&bits, 1))).ok());
  return bits;
}

TEST(StoreScalar, RoundsToF16) {
  EXPECT_EQ(F16Of(0.0), 0x0000);
  EXPECT_EQ(F16Of(-0.0), 0x8000);
  EXPECT_EQ(F16Of(1.0), 0x3c00);
  EXPECT_EQ(F16Of(-2.0), 0xc000);
  EXPECT_EQ(F16Of(1.0 / 3.0), 0x3555);
  EXPECT_EQ(F16Of(65504.0), 0x7bff);
  EXPECT_EQ(F16Of(65519.0), 0x7bff);
  EXPECT_EQ(F16Of(65520.0), 0x7c00);
  EXPECT_EQ(F16Of(std::ldexp(1.0, -14)), 0x0400);
  EXPECT_EQ(F16Of(std::ldexp(1.0, -24)), 0x0001);
  EXPECT_EQ(F16Of(std::ldexp(1.0, -25)), 0x0000);
  EXPECT_EQ(F16Of(std::ldexp(1023.9, -24)), 0x0400);
  EXPECT_EQ(F16Of(-HUGE_VAL), 0xfc00);
  EXPECT_EQ(F16Of(std::nan("")) & 0x7fff, 0x7e00);
}

TEST(StoreScalar, RejectsNonIntegers) {
  int32_t value = 0;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  EXPECT_TRUE(StoreScalar(-7, DType::kI32, bytes).ok());
  EXPECT_EQ(value, -7);
  EXPECT_FALSE(StoreScalar(0.5, DType::kI32, bytes).ok());
  EXPECT_FALSE(StoreScalar(3e9, DType::kI32, bytes).ok());
  EXPECT_FALSE(StoreScalar(-1, DType::kU8, bytes).ok());
  EXPECT_FALSE(StoreScalar(std::nan(""), DType::kI8, bytes).ok());
}

}  // namespace
}  // namespace spirloom::delegate
