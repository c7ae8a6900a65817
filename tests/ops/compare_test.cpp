#include "tests/ops/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace spirloom::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Tolerance kTolerance{.rtol = 1e-2, .atol = 1e-3};

std::string CompareFloats(const std::vector<float>& computed, const std::vector<float>& expected,
                          const Shape& shape) {
  return Compare(DType::kF32, shape, std::as_bytes(std::span(computed)),
                 std::as_bytes(std::span(expected)), kTolerance);
}

TEST(Compare, AcceptsValuesWithinTheTolerance) {
  EXPECT_EQ(CompareFloats({1.009f, -0.0009f, 100.9f}, {1, 0, 100}, {3}), "");
}

TEST(Compare, AcceptsEqualNansAndInfinities) {
  EXPECT_EQ(CompareFloats({kNan, kInfinity, -kInfinity}, {kNan, kInfinity, -kInfinity}, {3}), "");
}

TEST(Compare, RejectsNanAndInfinityIfAFiniteValueIsExpected) {
  EXPECT_NE(CompareFloats({kNan}, {1}, {1}), "");
  EXPECT_NE(CompareFloats({kInfinity}, {1}, {1}), "");
  EXPECT_NE(CompareFloats({1}, {kNan}, {1}), "");
  EXPECT_NE(CompareFloats({-kInfinity}, {kInfinity}, {1}), "");
}

TEST(Compare, DistinguishesSignedZerosIfRequested) {
  const std::vector<float> computed{0.0f, -0.0f};
  const std::vector<float> expected{-0.0f, -0.0f};
  EXPECT_EQ(CompareFloats(computed, expected, {2}), "");
  EXPECT_EQ(Compare(DType::kF32, {2}, std::as_bytes(std::span(computed)),
                    std::as_bytes(std::span(expected)),
                    {.rtol = 1e-2, .atol = 1e-3, .signed_zero = true}),
            "1 of 2 elements of [2] are wrong; the worst, [0], is 0, expected -0 "
            "(tolerance 0.001 + 0.01 of it).");
}

TEST(Compare, CountsWrongElementsAndShowsTheWorst) {
  EXPECT_EQ(CompareFloats({1, 2, 3, 4.5f, 5, 7.5f}, {1, 2, 3, 4, 5, 6}, {2, 3}),
            "2 of 6 elements of [2, 3] are wrong; the worst, [1, 2], is 7.5, expected 6 "
            "(tolerance 0.001 + 0.01 of it).");
}

TEST(Compare, ReadsAllDTypes) {
  const std::vector<int32_t> ints{-7};
  const std::vector<uint8_t> bytes{255};
  const std::vector<int8_t> signed_bytes{-1};
  const std::vector<uint16_t> float16{0x3C00};  // 1.0
  const std::vector<float> floats{1.0f};
  const Tolerance exact{.rtol = 0, .atol = 0};
  const auto text = [&](DType dtype, const auto& computed, const auto& expected) {
    return Compare(dtype, {1}, std::as_bytes(std::span(computed)),
                   std::as_bytes(std::span(expected)), exact);
  };
  EXPECT_EQ(text(DType::kI32, ints, ints), "");
  EXPECT_NE(text(DType::kI32, ints, std::vector<int32_t>{-8}), "");
  EXPECT_NE(text(DType::kU8, bytes, std::vector<uint8_t>{0}), "");
  EXPECT_NE(text(DType::kI8, signed_bytes, std::vector<int8_t>{1}), "");
  EXPECT_EQ(text(DType::kF16, float16, float16), "");
  EXPECT_NE(text(DType::kF16, float16, std::vector<uint16_t>{0x3C01}), "");
}

TEST(Compare, AcceptsTheMaximumFloat16ForInfinity) {
  const std::vector<uint16_t> computed{0x7BFF, 0xFBFF};
  const auto compare = [&](const std::vector<uint16_t>& expected) {
    return Compare(DType::kF16, {2}, std::as_bytes(std::span(computed)),
                   std::as_bytes(std::span(expected)), kTolerance);
  };
  EXPECT_EQ(compare({0x7C00, 0xFC00}), "");
  EXPECT_NE(compare({0xFC00, 0x7C00}), "");
}

}  // namespace
}  // namespace spirloom::testing
