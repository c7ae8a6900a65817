#include "runtime/graph/file/size_expr.h"

#include "runtime/base/text.h"
#include "runtime/ops/eval.h"

namespace spirloom::graph {
namespace {

std::string ToString(const SizeTerm& term, std::span<const Symbol> symbols) {
  std::string text;
  if (term.factor != 1 || term.symbols.empty()) text = std::to_string(term.factor);
  for (uint32_t symbol : term.symbols) {
    text += (text.empty() ? "" : "*") + symbols[symbol].name;
  }
  return text;
}

}  // namespace

std::optional<LinearSize> SizeExpr::AsLinear() const {
  std::optional<LinearSize> found;
  ops::Eval eval;
  int64_t offset = 0;
  for (const SizeTerm& term : terms) {
    if (term.symbols.empty()) {
      offset = eval.Add(offset, term.factor);
    } else if (found || term.symbols.size() != 1 || term.factor < 1) {
      return std::nullopt;
    } else {
      found = LinearSize{term.symbols[0], term.factor, 0};
    }
  }
  if (!found || divisor != 1 || !eval.ok()) return std::nullopt;
  found->offset = offset;
  return found;
}

Result<int64_t> Evaluate(const SizeExpr& size, std::span<const int64_t> values) {
  ops::Eval eval;
  int64_t total = 0;
  for (const SizeTerm& term : size.terms) {
    int64_t product = term.factor;
    for (uint32_t symbol : term.symbols) product = eval.Mul(product, values[symbol]);
    total = eval.Add(total, product);
  }
  const int64_t value = eval.FloorDiv(total, size.divisor);
  if (!eval.ok()) return Status(StatusCode::kInvalidFile, eval.error());
  return value;
}

std::string ToString(const SizeExpr& size, std::span<const Symbol> symbols) {
  std::string text;
  for (const SizeTerm& term : size.terms) {
    text += (text.empty() ? "" : " + ") + ToString(term, symbols);
  }
  if (size.divisor == 1) return text.empty() ? "0" : text;
  return Concat({"(", text, ")/", size.divisor});
}

std::vector<int64_t> MaxValues(std::span<const Symbol> symbols) {
  std::vector<int64_t> values;
  for (const Symbol& symbol : symbols) values.push_back(symbol.max);
  return values;
}

}  // namespace spirloom::graph
