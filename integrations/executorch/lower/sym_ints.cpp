#include "integrations/executorch/lower/sym_ints.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

constexpr size_t kMaxTerms = 16;   // of a graph file
constexpr size_t kMaxFactors = 4;  // symbols of a term

Result<int64_t> Compute(const SymStep& step, std::span<const int64_t> values,
                        const SymBindings& bindings) {
  const auto at = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
  switch (step.kind) {
    case SymKind::kConstant:
      return step.a;
    case SymKind::kSize:
      return bindings.shapes[static_cast<size_t>(step.a)][static_cast<size_t>(step.b)];
    case SymKind::kInput:
    case SymKind::kElement:
      return bindings.element(static_cast<size_t>(step.a), step.b);
    case SymKind::kAdd:
      return at(step.a) + at(step.b);
    case SymKind::kSub:
      return at(step.a) - at(step.b);
    case SymKind::kMul:
      return at(step.a) * at(step.b);
    case SymKind::kFloorDiv:
      break;
  }
  const int64_t left = at(step.a), right = at(step.b);
  if (right == 0) {
    return Error(StatusCode::kInvalidArgument, "Division of a symbolic int ({}) by 0.", left);
  }
  return left / right - (left % right != 0 && (left < 0) != (right < 0) ? 1 : 0);
}

// Adds `factor` times the terms of `from`. Returns false on overflow.
bool AddTerms(const SymExpr& from, int64_t factor, SymExpr& to) {
  for (const auto& [symbols, own] : from.terms) {
    int64_t product = 0, sum = 0;
    if (__builtin_mul_overflow(own, factor, &product) ||
        __builtin_add_overflow(to.terms[symbols], product, &sum)) {
      return false;
    }
    to.terms[symbols] = sum;
  }
  return true;
}

std::optional<SymExpr> Normalize(SymExpr expr) {
  std::erase_if(expr.terms, [](const auto& term) { return term.second == 0; });
  if (expr.terms.size() > kMaxTerms) return std::nullopt;
  return expr;
}

// floor(l / d) + floor(r / e) is a single quotient only if d or e is 1.
std::optional<SymExpr> Sum(const SymExpr& left, const SymExpr& right, int64_t sign) {
  if (left.divisor != 1 && right.divisor != 1) return std::nullopt;
  if (sign < 0 && right.divisor != 1) return std::nullopt;  // -floor(x) is not a floor
  SymExpr sum;
  sum.divisor = left.divisor * right.divisor;
  int64_t scaled = 0;
  if (!AddTerms(left, right.divisor, sum) || __builtin_mul_overflow(left.divisor, sign, &scaled) ||
      !AddTerms(right, scaled, sum)) {
    return std::nullopt;
  }
  return Normalize(std::move(sum));
}

std::optional<SymExpr> Product(const SymExpr& left, const SymExpr& right) {
  if (left.divisor != 1 || right.divisor != 1) return std::nullopt;
  SymExpr product;
  for (const auto& [symbols, factor] : left.terms) {
    for (const auto& [others, other] : right.terms) {
      std::vector<uint32_t> all = symbols;
      all.insert(all.end(), others.begin(), others.end());
      std::ranges::sort(all);
      int64_t term = 0;
      if (all.size() > kMaxFactors || __builtin_mul_overflow(factor, other, &term) ||
          __builtin_add_overflow(product.terms[all], term, &product.terms[all])) {
        return std::nullopt;
      }
    }
  }
  return Normalize(std::move(product));
}

}  // namespace

Result<std::vector<int64_t>> Evaluate(std::span<const SymStep> steps, const SymBindings& bindings) {
  std::vector<int64_t> values;
  values.reserve(steps.size());
  for (const SymStep& step : steps) {
    SPIRLOOM_TRY_ASSIGN(const int64_t value, Compute(step, values, bindings));
    if (value > kMaxSymInt || value < -kMaxSymInt) {
      return Error(StatusCode::kInvalidArgument, "A symbolic int ({}) exceeds {}.", value,
                   kMaxSymInt);
    }
    values.push_back(value);
  }
  return values;
}

SymExpr SymExpr::Of(int64_t constant) {
  SymExpr expr;
  if (constant != 0) expr.terms[{}] = constant;
  return expr;
}

SymExpr SymExpr::OfSymbol(uint32_t symbol) {
  SymExpr expr;
  expr.terms[{symbol}] = 1;
  return expr;
}

std::optional<int64_t> SymExpr::AsConstant() const {
  if (terms.empty()) return 0;
  if (divisor != 1 || terms.size() != 1 || !terms.begin()->first.empty()) return std::nullopt;
  return terms.begin()->second;
}

std::optional<SymExpr> Combine(SymKind kind, const SymExpr& left, const SymExpr& right) {
  switch (kind) {
    case SymKind::kAdd:
      return Sum(left, right, 1);
    case SymKind::kSub:
      return Sum(left, right, -1);
    case SymKind::kMul:
      return Product(left, right);
    case SymKind::kFloorDiv:
      break;
    default:
      return std::nullopt;
  }
  // floor(floor(l / d) / r) = floor(l / (d r)).
  const std::optional<int64_t> by = right.AsConstant();
  SymExpr quotient = left;
  if (!by || *by < 1 || __builtin_mul_overflow(left.divisor, *by, &quotient.divisor)) {
    return std::nullopt;
  }
  if (const auto integer = left.AsConstant()) {
    return SymExpr::Of(*integer / *by - (*integer % *by != 0 && *integer < 0 ? 1 : 0));
  }
  return quotient;
}

}  // namespace spirloom::delegate
