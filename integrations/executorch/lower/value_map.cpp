#include "integrations/executorch/lower/value_map.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "integrations/executorch/lower/greatest.h"
#include "integrations/executorch/lower/narrow.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

constexpr size_t kMaxSymbols = 64;  // of a graph file

std::string TensorName(uint32_t id) { return DescribeValue(id); }

}  // namespace

Status ValueMap::AddInputs() {
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    const uint32_t id = program_.inputs[i];
    if (tensors_.contains(id) || syms_.contains(id)) {
      return InvalidFile({"The delegate has ", DescribeValue(id), " as two of its inputs."});
    }
    if (tensor(id) == nullptr) {
      const uint32_t step = AddStep({SymKind::kInput, static_cast<int64_t>(i), 0});
      syms_[id] = {step, GreatestOf(program_, id), std::nullopt};
      continue;
    }
    SPIRLOOM_TRY_WHILE(AddTensorInput(i, id), {"reading input ", i});
  }
  return Status();
}

// Each size above 1 may vary up to itself: a file does not say which do. They are symbols of their
// own as long as there are enough of them, for one whose size is another's by chance must not tie
// it.
Status ValueMap::AddTensorInput(size_t input, uint32_t id) {
  const TensorValue& source = *tensor(id);
  if (source.constant.has_value()) {
    return InvalidFile({"The input ", DescribeValue(id), " is a constant."});
  }
  size_t wanted = 0;
  for (const uint32_t other : program_.inputs) {
    const TensorValue* each = tensor(other);
    if (each == nullptr) continue;
    wanted +=
        static_cast<size_t>(std::ranges::count_if(each->shape, [](int64_t n) { return n > 1; }));
  }
  const uint32_t outside =
      graph_.AddTensor(TensorName(id), DeviceType(source.outside), source.shape);
  graph_.AddInput(outside);
  inputs_[outside] = static_cast<uint32_t>(input);
  std::vector<uint32_t> entries(source.shape.size(), 0);
  std::vector<std::optional<uint32_t>> symbols(source.shape.size());
  for (size_t d = 0; d < source.shape.size(); ++d) {
    if (source.shape[d] <= 1) continue;
    if (wanted > kMaxSymbols) {
      // Too many for each: those of one size share one.
      for (const auto& [known, theirs] : symbols_) {
        for (size_t k = 0; k < theirs.size() && !symbols[d]; ++k) {
          if (theirs[k] && graph_.shape(known)[k] == source.shape[d]) symbols[d] = theirs[k];
        }
      }
      for (size_t k = 0; k < d && !symbols[d]; ++k) {
        if (source.shape[k] == source.shape[d]) symbols[d] = symbols[k];
      }
    }
    if (!symbols[d]) {
      if (graph_.symbols() >= kMaxSymbols) continue;  // fixed
      symbols[d] = graph_.AddSymbol(Concat({"dim ", d, " of input ", input}), source.shape[d]);
    }
    entries[d] = graph_.SizeEntry(SymExpr::OfSymbol(*symbols[d]));
  }
  graph_.SetSizes(outside, entries);
  dims_[outside] = entries;
  symbols_[outside] = symbols;
  if (DeviceType(source.type) == DeviceType(source.outside)) return Define(id, outside);
  const uint32_t inside = Declare(id);
  graph_.AddNode("aten._to_copy", Concat({"input ", input}),
                 [&] {
                   std::vector<schema::ArgT> args;
                   args.push_back(TensorArg(outside));
                   args.push_back(TextArg(ShortName(DeviceType(source.type))));
                   return args;
                 }(),
                 {inside});
  inputs_[inside] = static_cast<uint32_t>(input);
  symbols_[inside] = symbols;
  dims_[inside] = entries;
  return Define(id, inside);
}

Status ValueMap::AddStates() {
  for (const auto& [id, constant] : states_) {
    const TensorValue& value = *tensor(id);
    const TensorValue& source = *tensor(constant);
    if (value.type != source.type || value.shape != source.shape) {
      return InvalidFile({DescribeValue(id), " has another type than its initial value, ",
                          DescribeValue(constant), "."});
    }
    olds_[id] = Declare(id);
    if (!tensors_.emplace(id, olds_[id]).second) {
      return InvalidFile({"The input ", DescribeValue(id), " is a constant."});
    }
  }
  return Status();
}

Status ValueMap::FinishStates() {
  for (const auto& [id, constant] : states_) {
    const std::span bytes = BytesOf(*tensor(constant));
    std::vector<std::byte> initial(bytes.begin(), bytes.end());
    const ElementType type = tensor(constant)->type;
    if (ElementSize(type) != spirloom::ElementSize(DeviceType(type))) {
      initial.resize(bytes.size() / ElementSize(type) * spirloom::ElementSize(DeviceType(type)));
      SPIRLOOM_TRY_WHILE(Narrow(type, bytes, initial), {"reading ", DescribeValue(constant)});
    }
    graph_.AddState(olds_.at(id), tensors_.at(id), std::move(initial));
  }
  return Status();
}

std::span<const std::byte> ValueMap::BytesOf(const TensorValue& constant) const {
  size_t count = 1;
  for (const int64_t size : constant.shape) count *= static_cast<size_t>(size);
  return program_.constants[*constant.constant].first(count * ElementSize(constant.type));
}

uint32_t ValueMap::AddStep(SymStep step) {
  steps_.push_back(step);
  return static_cast<uint32_t>(steps_.size() - 1);
}

Result<uint32_t> ValueMap::TensorOf(uint32_t id) {
  const TensorValue* source = tensor(id);
  if (source == nullptr) return InvalidFile({DescribeValue(id), " is no tensor."});
  if (const auto found = tensors_.find(id); found != tensors_.end()) return found->second;
  if (source->is_state) {
    return Error(StatusCode::kUnsupported,
                 {DescribeValue(id),
                  " is a buffer that runs change (state), and no call is known to change it; calls "
                  "that write their arguments are not supported yet."});
  }
  if (!source->constant.has_value()) {
    return InvalidFile({DescribeValue(id), " is read before anything defines it."});
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t constant, AddConstantTensor(id, *source));
  tensors_[id] = constant;
  return constant;
}

Result<uint32_t> ValueMap::AddConstantTensor(uint32_t id, const TensorValue& source) {
  const std::span bytes = BytesOf(source);
  const DType dtype = DeviceType(source.type);
  if (ElementSize(source.type) == spirloom::ElementSize(dtype)) {
    return graph_.AddConstant(TensorName(id), dtype, source.shape, bytes);
  }
  std::vector<std::byte> narrow(bytes.size() / ElementSize(source.type) *
                                spirloom::ElementSize(dtype));
  SPIRLOOM_TRY_WHILE(Narrow(source.type, bytes, narrow), {"reading ", DescribeValue(id)});
  return graph_.AddConstant(TensorName(id), dtype, source.shape, std::move(narrow));
}

Result<uint32_t> ValueMap::ScalarOf(double number, DType dtype) {
  std::vector<std::byte> bytes(spirloom::ElementSize(dtype));
  SPIRLOOM_TRY(StoreNumber(number, dtype, bytes));
  return graph_.AddConstant("", dtype, {}, std::move(bytes));
}

uint32_t ValueMap::Declare(uint32_t id) {
  const TensorValue& source = *tensor(id);
  return graph_.AddTensor(TensorName(id), DeviceType(source.type), source.shape);
}

Status ValueMap::Define(uint32_t id, uint32_t tensor) {
  if (program_.values[id].index() != Value(TensorValue()).index()) {
    return InvalidFile({DescribeValue(id), " is computed, but is no tensor."});
  }
  if (is_state(id)) {
    tensors_[id] = tensor;
    return Status();
  }
  if (!tensors_.emplace(id, tensor).second) {
    return InvalidFile({DescribeValue(id), " is defined twice."});
  }
  return Status();
}

bool ValueMap::IsRead(uint32_t id) const {
  const auto has = [&](uint32_t value) {
    if (value == id) return true;
    const auto* list = std::get_if<ValueList>(&program_.values[value]);
    return list != nullptr && std::ranges::find(list->items, id) != list->items.end();
  };
  return std::ranges::any_of(program_.outputs, has) ||
         std::ranges::any_of(program_.calls, [&](const Call& call) {
           return std::any_of(call.args.begin(), call.args.end() - 1, has);
         });
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
  places_.push_back({sym.step, most});
  return Sized(sym);
}

std::vector<SizedInt> ValueMap::ShapeOf(uint32_t tensor, size_t first) const {
  std::vector<SizedInt> sizes;
  const auto entries = dims_.find(tensor);
  for (size_t d = first; d < graph_.shape(tensor).size(); ++d) {
    sizes.push_back({graph_.shape(tensor)[d], entries == dims_.end() ? 0 : entries->second[d]});
  }
  return sizes;
}

}  // namespace spirloom::delegate
