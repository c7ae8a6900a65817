#include "integrations/executorch/lower/sym_ints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

namespace spirloom::delegate {
namespace {

using testing::HasSubstr;

int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t ValueOf(const SymExpr& expr, std::span<const int64_t> symbols) {
  int64_t sum = 0;
  for (const auto& [factors, factor] : expr.terms) {
    int64_t term = factor;
    for (const uint32_t symbol : factors) term *= symbols[symbol];
    sum += term;
  }
  return FloorDiv(sum, expr.divisor);
}

Result<int64_t> NoElement(size_t, int64_t) { return int64_t{0}; }

// An expression has the value of its steps, for random steps.
TEST(SymInts, ExpressionsEqualTheirSteps) {
  std::mt19937 random(1);
  const auto pick = [&](int64_t min, int64_t most) {
    return std::uniform_int_distribution<int64_t>(min, most)(random);
  };
  size_t compared = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<SymStep> steps{{SymKind::kSize, 0, 0}, {SymKind::kSize, 0, 1}};
    std::vector<std::optional<SymExpr>> exprs{SymExpr::OfSymbol(0), SymExpr::OfSymbol(1)};
    for (int i = 0; i < 6; ++i) {
      if (pick(0, 2) == 0) {
        steps.push_back({SymKind::kConstant, pick(1, 5), 0});
        exprs.emplace_back(SymExpr::Of(steps.back().a));
        continue;
      }
      const auto kind = static_cast<SymKind>(
          pick(static_cast<int64_t>(SymKind::kAdd), static_cast<int64_t>(SymKind::kFloorDiv)));
      const int64_t a = pick(0, static_cast<int64_t>(steps.size()) - 1);
      const int64_t b = pick(0, static_cast<int64_t>(steps.size()) - 1);
      steps.push_back({kind, a, b});
      const auto& left = exprs[static_cast<size_t>(a)];
      const auto& right = exprs[static_cast<size_t>(b)];
      exprs.push_back(left && right ? Combine(kind, *left, *right) : std::nullopt);
    }
    const std::array<Shape, 1> shapes{Shape{pick(1, 9), pick(1, 9)}};
    const auto values = Evaluate(steps, {shapes, NoElement});
    if (!values.ok()) continue;  // a division by 0, or a value beyond kMaxSymInt
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!exprs[i]) continue;
      ++compared;
      EXPECT_EQ(ValueOf(*exprs[i], shapes[0]), (*values)[i]);
    }
  }
  EXPECT_GT(compared, 8000U);
}

TEST(SymInts, DivisionByZeroIsAnError) {
  const std::array<Shape, 1> shapes{Shape{3, 0}};
  const std::vector<SymStep> steps{
      {SymKind::kSize, 0, 0}, {SymKind::kSize, 0, 1}, {SymKind::kFloorDiv, 0, 1}};
  EXPECT_THAT(Evaluate(steps, {shapes, NoElement}).status().message(),
              HasSubstr("Division of a symbolic int (3) by 0."));
}

TEST(SymInts, OverflowIsAnError) {
  const std::array<Shape, 1> shapes{Shape{1 << 20}};
  const std::vector<SymStep> steps{{SymKind::kSize, 0, 0}, {SymKind::kMul, 0, 0}};
  EXPECT_THAT(Evaluate(steps, {shapes, NoElement}).status().message(), HasSubstr("exceeds"));
}

}  // namespace
}  // namespace spirloom::delegate
