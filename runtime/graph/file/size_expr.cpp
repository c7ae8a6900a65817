#include "runtime/graph/file/size_expr.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/ops/eval.h"

namespace spirloom::graph {
namespace {

constexpr size_t kMaxText = 256;

// Appends the texts of expressions, which nested ones could make exponentially long.
class Writer {
 public:
  Writer(std::span<const SizeExpr> sizes, std::span<const Symbol> symbols)
      : sizes_(sizes), symbols_(symbols) {}

  std::string Text(uint32_t index) {
    Append(sizes_[index], /*nested=*/false);
    if (text_.size() <= kMaxText) return text_;
    return text_.substr(0, kMaxText) + "...";
  }

 private:
  void Append(const SizeExpr& size, bool nested) {
    if (text_.size() > kMaxText) return;
    const bool sum = size.op == SizeOp::kSum;
    const bool divided = size.divisor != 1;
    if (divided && nested) text_ += "(";
    text_ += sum ? (divided || (nested && size.terms.size() > 1) ? "(" : "")
                 : (size.op == SizeOp::kMin ? "min(" : "max(");
    if (size.terms.empty()) text_ += "0";
    for (size_t i = 0; i < size.terms.size(); ++i) {
      if (i > 0) text_ += sum ? " + " : ", ";
      Append(size.terms[i]);
    }
    if (!sum || divided || (nested && size.terms.size() > 1)) text_ += ")";
    if (divided) text_ += "/" + std::to_string(size.divisor);
    if (divided && nested) text_ += ")";
  }

  void Append(const SizeTerm& term) {
    bool first = true;
    const auto separate = [&] {
      if (!first) text_ += "*";
      first = false;
    };
    if (term.factor != 1 || (term.symbols.empty() && term.sizes.empty())) {
      separate();
      text_ += std::to_string(term.factor);
    }
    for (uint32_t symbol : term.symbols) {
      separate();
      text_ += symbols_[symbol].name;
    }
    for (uint32_t size : term.sizes) {
      separate();
      Append(sizes_[size], /*nested=*/true);
    }
  }

  std::span<const SizeExpr> sizes_;
  std::span<const Symbol> symbols_;
  std::string text_;
};

int64_t Combined(ops::Eval& eval, SizeOp op, int64_t total, int64_t term) {
  switch (op) {
    case SizeOp::kMin:
      return std::min(total, term);
    case SizeOp::kMax:
      return std::max(total, term);
    case SizeOp::kSum:
      break;
  }
  return eval.Add(total, term);
}

int64_t Evaluate(ops::Eval& eval, const SizeExpr& size, std::span<const int64_t> symbols,
                 std::span<const int64_t> sizes) {
  int64_t total = 0;
  for (size_t i = 0; i < size.terms.size(); ++i) {
    int64_t product = size.terms[i].factor;
    for (uint32_t symbol : size.terms[i].symbols) product = eval.Mul(product, symbols[symbol]);
    for (uint32_t earlier : size.terms[i].sizes) product = eval.Mul(product, sizes[earlier]);
    total = i == 0 ? product : Combined(eval, size.op, total, product);
  }
  return eval.FloorDiv(total, size.divisor);
}

}  // namespace

std::optional<LinearSize> SizeExpr::AsLinear() const {
  std::optional<LinearSize> found;
  ops::Eval eval;
  int64_t offset = 0;
  for (const SizeTerm& term : terms) {
    if (!term.sizes.empty()) return std::nullopt;
    if (term.symbols.empty()) {
      offset = eval.Add(offset, term.factor);
    } else if (found || term.symbols.size() != 1 || term.factor < 1) {
      return std::nullopt;
    } else {
      found = LinearSize{term.symbols[0], term.factor, 0};
    }
  }
  if (!found || divisor != 1 || op != SizeOp::kSum || !eval.ok()) return std::nullopt;
  found->offset = offset;
  return found;
}

Result<std::vector<int64_t>> Evaluate(std::span<const SizeExpr> sizes,
                                      std::span<const int64_t> values) {
  ops::Eval eval;
  std::vector<int64_t> found;
  found.reserve(sizes.size());
  for (const SizeExpr& size : sizes) {
    found.push_back(Evaluate(eval, size, values, found));
    if (eval.ok()) continue;
    return While(Status(StatusCode::kInvalidFile, eval.error()), "evaluating size {}",
                 found.size() - 1);
  }
  return found;
}

std::string ToString(std::span<const SizeExpr> sizes, uint32_t index,
                     std::span<const Symbol> symbols) {
  return Writer(sizes, symbols).Text(index);
}

std::vector<int64_t> MaxValues(std::span<const Symbol> symbols) {
  std::vector<int64_t> values;
  for (const Symbol& symbol : symbols) values.push_back(symbol.max);
  return values;
}

}  // namespace spirloom::graph
