// Numbers that may vary from run to run: of sizes, of the host, read from inputs.
#include <algorithm>
#include <utility>

#include "integrations/executorch/lower/greatest.h"
#include "integrations/executorch/lower/value_map.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {

uint32_t ValueMap::AddStep(SymStep step) {
  steps_.push_back(step);
  return static_cast<uint32_t>(steps_.size() - 1);
}

Result<SymValue> ValueMap::SymOf(uint32_t id) {
  if (const auto* number = std::get_if<int64_t>(&value(id))) return ConstantSym(*number);
  if (const auto* flag = std::get_if<bool>(&value(id))) return ConstantSym(*flag ? 1 : 0);
  if (const auto found = syms_.find(id); found != syms_.end()) return found->second;
  if (std::holds_alternative<SymIntValue>(value(id))) {
    return InvalidFile({DescribeValue(id), " is read before anything defines it."});
  }
  return InvalidFile({DescribeValue(id), " is no int."});
}

Status ValueMap::DefineSym(uint32_t id, SymValue sym) {
  if (!std::holds_alternative<SymIntValue>(value(id))) {
    return InvalidFile({DescribeValue(id), " is computed as an int, but is none."});
  }
  if (!syms_.emplace(id, std::move(sym)).second) {
    return InvalidFile({DescribeValue(id), " is defined twice."});
  }
  return Status();
}

// A number beyond all sizes, such as "to the end" of a slice, is as good as the greatest of them.
SymValue ValueMap::ConstantSym(int64_t number) {
  const int64_t size = std::clamp(number, -kMostSize, kMostSize);
  return {AddStep({SymKind::kConstant, size, 0}), size, SymExpr::Of(size)};
}

SymValue ValueMap::CombineSyms(SymKind kind, const SymValue& left, const SymValue& right) {
  SymValue result;
  result.step = AddStep({kind, left.step, right.step});
  if (left.expr && right.expr) result.expr = Combine(kind, *left.expr, *right.expr);
  const int64_t a = left.greatest, b = right.greatest;
  switch (kind) {
    case SymKind::kAdd:
      result.greatest = a + b;
      break;
    case SymKind::kSub:
      result.greatest = a - b;
      break;
    case SymKind::kMul:
      result.greatest = a * b;
      break;
    default:
      result.greatest = b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }
  result.greatest = std::clamp(result.greatest, -kMostSize, kMostSize);
  if (kind == SymKind::kAdd) sums_[result.step] = {left, right};
  return result;
}

Result<uint32_t> ValueMap::InputOf(uint32_t id, const char* what) const {
  const auto found = tensors_.find(id);
  const auto input = found == tensors_.end() ? inputs_.end() : inputs_.find(found->second);
  if (input != inputs_.end()) return input->second;
  return Error(StatusCode::kUnsupported, {what, " of ", DescribeValue(id),
                                          ", which is computed within the delegate, is not known "
                                          "before it runs."});
}

Result<SymValue> ValueMap::SizeSym(uint32_t id, int64_t dim) {
  const TensorValue* source = tensor(id);
  if (source == nullptr) return InvalidFile({DescribeValue(id), " is no tensor."});
  const auto rank = static_cast<int64_t>(source->shape.size());
  const int64_t d = dim < 0 ? dim + rank : dim;
  if (d < 0 || d >= rank) {
    return InvalidFile({"Dim ", dim, " of ", DescribeValue(id), " is none of its ", rank, "."});
  }
  if (source->constant.has_value() || is_state(id))
    return ConstantSym(source->shape[static_cast<size_t>(d)]);
  SPIRLOOM_TRY_ASSIGN(const uint32_t input, InputOf(id, "A size"));
  SymValue size;
  size.step = AddStep({SymKind::kSize, input, d});
  size.greatest = source->shape[static_cast<size_t>(d)];
  const auto symbol = symbols_.at(tensors_.at(id))[static_cast<size_t>(d)];
  size.expr = symbol ? SymExpr::OfSymbol(*symbol) : SymExpr::Of(size.greatest);
  return size;
}

Result<SymValue> ValueMap::ElementSym(uint32_t id, int64_t dim, int64_t index, uint32_t result) {
  const TensorValue* source = tensor(id);
  if (source == nullptr) return InvalidFile({DescribeValue(id), " is no tensor."});
  const auto rank = static_cast<int64_t>(source->shape.size());
  const int64_t d = dim < 0 ? dim + rank : dim;
  if (rank > 0 && (d < 0 || d >= rank)) {
    return InvalidFile({"Dim ", dim, " of ", DescribeValue(id), " is none of its ", rank, "."});
  }
  int64_t others = 1;
  for (int64_t k = 0; k < rank; ++k) {
    if (k != d) others *= source->shape[static_cast<size_t>(k)];
  }
  if (others != 1) {
    return Error(StatusCode::kUnsupported, {"A number is read from ", DescribeValue(id),
                                            " where there are ", others, " of them."});
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t input, InputOf(id, "A number"));
  SymValue element;
  element.step = AddStep({SymKind::kElement, input, index});
  element.greatest = GreatestOf(program_, result);
  return element;
}

std::optional<SymValue> ValueMap::Difference(const SymValue& sum, const SymValue& part) const {
  const auto found = sums_.find(sum.step);
  if (found == sums_.end()) return std::nullopt;
  const auto& [left, right] = found->second;
  if (left.step == part.step) return right;
  return right.step == part.step ? std::optional(left) : std::nullopt;
}

std::optional<InputElement> ValueMap::ElementOf(const SymValue& sym) const {
  const SymStep& step = steps_[sym.step];
  if (step.kind != SymKind::kElement) return std::nullopt;
  const auto found = tensors_.find(program_.inputs[static_cast<size_t>(step.a)]);
  if (found == tensors_.end() || graph_.shape(found->second).size() != 1) return std::nullopt;
  return InputElement{found->second, step.b};
}

Result<SizedInt> ValueMap::Sized(const SymValue& sym) {
  if (!sym.expr) {
    if (graph_.symbols() >= kMaxSymbols) {
      return Error(StatusCode::kUnsupported,
                   {"More than ", kMaxSymbols, " sizes and numbers vary from run to run."});
    }
    const uint32_t symbol = graph_.AddSymbol(Concat({"number ", size_steps_.size()}), sym.greatest);
    const uint32_t entry = graph_.SizeEntry(SymExpr::OfSymbol(symbol));
    const uint32_t carrier =
        graph_.AddTensor(Concat({"number ", size_steps_.size()}), DType::kU8, {sym.greatest});
    graph_.SetSizes(carrier, {entry});
    graph_.AddInput(carrier);
    size_steps_.push_back(sym.step);
    return SizedInt{sym.greatest, entry};
  }
  if (const auto constant = sym.expr->AsConstant()) return SizedInt{*constant, 0};
  return SizedInt{sym.greatest, graph_.SizeEntry(*sym.expr)};
}

Result<SizedInt> ValueMap::Place(const SymValue& sym, int64_t most) {
  Check(sym, most);
  return Sized(sym);
}

}  // namespace spirloom::delegate
