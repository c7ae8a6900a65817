// Symbolic ints: input sizes, int inputs, and elements of inputs read on the host.
#include <algorithm>
#include <utility>

#include "integrations/executorch/lower/value_map.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {

uint32_t ValueMap::AddStep(SymStep step) {
  steps_.push_back(step);
  return static_cast<uint32_t>(steps_.size() - 1);
}

Result<SymValue> ValueMap::SymOf(uint32_t id) {
  if (const auto* constant = std::get_if<int64_t>(&value(id))) return ConstantSym(*constant);
  if (const auto* flag = std::get_if<bool>(&value(id))) return ConstantSym(*flag ? 1 : 0);
  if (const auto found = syms_.find(id); found != syms_.end()) return found->second;
  if (std::holds_alternative<SymIntValue>(value(id))) {
    return InvalidFile("{} is read before it is defined.", DescribeValue(id));
  }
  return InvalidFile("{} is not an int.", DescribeValue(id));
}

Status ValueMap::DefineSym(uint32_t id, SymValue sym) {
  if (!std::holds_alternative<SymIntValue>(value(id))) {
    return InvalidFile("{} is computed as an int, but is declared otherwise.", DescribeValue(id));
  }
  if (!syms_.emplace(id, std::move(sym)).second) {
    return InvalidFile("{} is defined twice.", DescribeValue(id));
  }
  return Status();
}

// Values beyond all sizes, such as the "to the end" of a slice, are clamped to the maximum size.
SymValue ValueMap::ConstantSym(int64_t value) {
  const int64_t size = std::clamp(value, -kMaxSymInt, kMaxSymInt);
  return {AddStep({SymKind::kConstant, size, 0}), size, SymExpr::Of(size)};
}

SymValue ValueMap::CombineSyms(SymKind kind, const SymValue& left, const SymValue& right) {
  SymValue result;
  result.step = AddStep({kind, left.step, right.step});
  if (left.expr && right.expr) result.expr = Combine(kind, *left.expr, *right.expr);
  const int64_t a = left.upper_bound, b = right.upper_bound;
  switch (kind) {
    case SymKind::kAdd:
      result.upper_bound = a + b;
      break;
    case SymKind::kSub:
      result.upper_bound = a - b;
      break;
    case SymKind::kMul:
      result.upper_bound = a * b;
      break;
    default:
      result.upper_bound = b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }
  result.upper_bound = std::clamp(result.upper_bound, -kMaxSymInt, kMaxSymInt);
  if (kind == SymKind::kAdd) sums_[result.step] = {left, right};
  return result;
}

Result<uint32_t> ValueMap::InputOf(uint32_t id, const char* what) const {
  const auto found = tensors_.find(id);
  const auto input = found == tensors_.end() ? inputs_.end() : inputs_.find(found->second);
  if (input != inputs_.end()) return input->second;
  return Error(StatusCode::kUnsupported,
               "{} of {} is read on the host, but the value is computed in the delegate. Only "
               "inputs are supported.",
               what, DescribeValue(id));
}

Result<SymValue> ValueMap::SizeSym(uint32_t id, int64_t dim) {
  const TensorValue* source = tensor(id);
  if (source == nullptr) return InvalidFile("{} is not a tensor.", DescribeValue(id));
  const auto rank = static_cast<int64_t>(source->shape.size());
  const int64_t d = dim < 0 ? dim + rank : dim;
  if (d < 0 || d >= rank) {
    return InvalidFile("Dim ({}) of {} is out of range of rank {}.", dim, DescribeValue(id), rank);
  }
  if (source->constant.has_value() || is_state(id))
    return ConstantSym(source->shape[static_cast<size_t>(d)]);
  SPIRLOOM_TRY_ASSIGN(const uint32_t input, InputOf(id, "A size"));
  SymValue size;
  size.step = AddStep({SymKind::kSize, input, d});
  size.upper_bound = source->shape[static_cast<size_t>(d)];
  const auto symbol = symbols_.at(tensors_.at(id))[static_cast<size_t>(d)];
  size.expr = symbol ? SymExpr::OfSymbol(*symbol) : SymExpr::Of(size.upper_bound);
  return size;
}

Result<SymValue> ValueMap::ElementSym(uint32_t id, int64_t dim, int64_t index, uint32_t result) {
  const TensorValue* source = tensor(id);
  if (source == nullptr) return InvalidFile("{} is not a tensor.", DescribeValue(id));
  const auto rank = static_cast<int64_t>(source->shape.size());
  const int64_t d = dim < 0 ? dim + rank : dim;
  if (rank > 0 && (d < 0 || d >= rank)) {
    return InvalidFile("Dim ({}) of {} is out of range of rank {}.", dim, DescribeValue(id), rank);
  }
  int64_t others = 1;
  for (int64_t k = 0; k < rank; ++k) {
    if (k != d) others *= source->shape[static_cast<size_t>(k)];
  }
  if (others != 1) {
    return Error(StatusCode::kUnsupported,
                 "A single int is read from {}, which has {} elements per index of the dim.",
                 DescribeValue(id), others);
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t input, InputOf(id, "An element"));
  SymValue element;
  element.step = AddStep({SymKind::kElement, input, index});
  element.upper_bound = upper_bounds_.Of(result);
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

uint32_t ValueMap::IntTensorOf(const SymValue& sym) {
  const auto [found, is_new] = int_tensors_.try_emplace(sym.step);
  if (is_new) {
    const std::string name = Concat("int ", int_inputs_.size());
    found->second = graph_.AddTensor(name, DType::kI32, {1});
    graph_.AddInput(found->second);
    int_inputs_.push_back({sym.step, /*is_size=*/false});
  }
  return found->second;
}

Result<SizedInt> ValueMap::Sized(const SymValue& sym) {
  if (!sym.expr) {
    if (graph_.symbols() >= kMaxSymbols) {
      return Error(StatusCode::kUnsupported, "The program has more than {} dynamic sizes and ints.",
                   kMaxSymbols);
    }
    if (sym.upper_bound < 0) {
      return Error(StatusCode::kUnsupported,
                   "An int, which the program reads at run time, is at most {}; expected one that "
                   "may be 0 or more.",
                   sym.upper_bound);
    }
    const std::string name = Concat("int ", int_inputs_.size());
    const uint32_t symbol = graph_.AddSymbol(name, sym.upper_bound);
    const uint32_t entry = graph_.SizeEntry(SymExpr::OfSymbol(symbol));
    graph_.AddIntInput(name, symbol);
    int_inputs_.push_back({sym.step, /*is_size=*/true});
    return SizedInt{sym.upper_bound, entry};
  }
  if (const auto constant = sym.expr->AsConstant()) return SizedInt{*constant, 0};
  return SizedInt{sym.upper_bound, graph_.SizeEntry(*sym.expr)};
}

Result<SizedInt> ValueMap::CheckedIndex(const SymValue& sym, int64_t max) {
  CheckIndex(sym, max);
  return Sized(sym);
}

}  // namespace spirloom::delegate
