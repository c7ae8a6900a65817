// Converts the values of a call to arguments of its node.
#include <tuple>
#include <utility>

#include "integrations/executorch/lower/arguments.h"
#include "integrations/executorch/lower/binder.h"
#include "integrations/executorch/lower/narrow.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using NamedArgs = std::map<std::string, schema::ArgT>;

bool IsInt(const Value& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<SymIntValue>(value);
}

}  // namespace

Result<schema::ArgT> Binder::ToArg(const ArgInfo& arg, uint32_t id, const Call& call) {
  const Value& value = values_.value(id);
  if (IsAbsent(value)) return NoArg();  // its default, if it has one
  switch (arg.type) {
    case ArgType::kTensor:
      return ToTensor(arg, id, call);
    case ArgType::kTensors: {
      const auto* list = std::get_if<ValueList>(&value);
      if (list == nullptr) return InvalidFile("{} is not a list of tensors.", DescribeValue(id));
      std::vector<uint32_t> tensors;
      for (const uint32_t item : list->items) {
        SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, values_.TensorOf(item));
        tensors.push_back(tensor);
      }
      return TensorsArg(tensors);
    }
    case ArgType::kInt: {
      SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(id));
      SPIRLOOM_TRY_ASSIGN(const SizedInt sized, values_.Sized(sym));
      return IntArg(sized);
    }
    case ArgType::kFloat:
    case ArgType::kNumber:
      return ToFloat(id);
    case ArgType::kBool:
      if (const auto* flag = std::get_if<bool>(&value)) return BoolArg(*flag);
      return InvalidFile("{} is not a bool.", DescribeValue(id));
    case ArgType::kInts:
      return ToInts(arg, id);
    case ArgType::kString:
      if (const auto* text = std::get_if<std::string>(&value)) return TextArg(*text);
      return InvalidFile("{} is not a string.", DescribeValue(id));
  }
  return NoArg();
}

Result<schema::ArgT> Binder::ToTensor(const ArgInfo& arg, uint32_t id, const Call& call) {
  const Value& value = values_.value(id);
  if (values_.tensor(id) == nullptr) {
    std::optional<DType> dtype = arg.dtype;
    if (!dtype) dtype = arg.any_dtype && IsInt(value) ? DType::kI32 : DTypeOf(call);
    if (dtype && std::holds_alternative<SymIntValue>(value)) {
      SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(id));
      SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, arg.dtype ? SymIntVector(call, sym, *dtype)
                                                           : SymIntScalar(call, sym, *dtype));
      return TensorArg(tensor);
    }
    std::optional<double> scalar_value;
    if (const auto* i = std::get_if<int64_t>(&value)) scalar_value = static_cast<double>(*i);
    if (const auto* d = std::get_if<double>(&value)) scalar_value = AsFloat(*d);
    if (const auto* b = std::get_if<bool>(&value)) scalar_value = *b ? 1.0 : 0.0;
    if (!scalar_value || !dtype) return InvalidFile("{} is not a tensor.", DescribeValue(id));
    SPIRLOOM_TRY_ASSIGN(const uint32_t scalar,
                        values_.ScalarOf(*scalar_value, *dtype, arg.dtype ? Shape{1} : Shape()));
    return TensorArg(scalar);
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, values_.TensorOf(id));
  const DType dtype = graph_.dtype(tensor);
  if (!arg.dtype || *arg.dtype == dtype || !IsFloat(*arg.dtype) || !IsFloat(dtype)) {
    return TensorArg(tensor);
  }
  const uint32_t cast = graph_.AddTensor("", *arg.dtype, graph_.shape(tensor));
  SPIRLOOM_TRY(Add(call, "aten._to_copy",
                   {{"x", TensorArg(tensor)}, {"dtype", TextArg(ShortName(*arg.dtype))}}, {cast}));
  return TensorArg(cast);
}

Result<schema::ArgT> Binder::ToFloat(uint32_t id) {
  const Value& value = values_.value(id);
  if (const auto* real = std::get_if<double>(&value)) return FloatArg(AsFloat(*real));
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return FloatArg(static_cast<double>(*integer));
  }
  if (const auto* flag = std::get_if<bool>(&value)) return FloatArg(*flag ? 1.0 : 0.0);
  if (std::holds_alternative<SymIntValue>(value)) {
    return Error(StatusCode::kUnsupported,
                 "{}, a symbolic int, is passed as a float; expected a constant.",
                 DescribeValue(id));
  }
  return InvalidFile("{} is not a float, an int or a bool.", DescribeValue(id));
}

Result<schema::ArgT> Binder::ToInts(const ArgInfo& arg, uint32_t id) {
  const Value& value = values_.value(id);
  std::vector<SizedInt> ints;
  if (const auto* items = std::get_if<std::vector<int64_t>>(&value)) {
    for (const int64_t item : *items) ints.push_back({item, 0});
  } else if (const auto* flags = std::get_if<std::vector<bool>>(&value)) {
    // The format does not distinguish an empty list of ints from one of bools.
    for (const bool flag : *flags) ints.push_back({flag ? 1 : 0, 0});
  } else {
    const auto* list = std::get_if<ValueList>(&value);
    const std::span<const uint32_t> ids =
        list != nullptr ? std::span<const uint32_t>(list->items) : std::span(&id, 1);
    for (const uint32_t item : ids) {
      SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(item));
      SPIRLOOM_TRY_ASSIGN(const SizedInt sized, values_.Sized(sym));
      ints.push_back(sized);
    }
  }
  if (arg.length.has_value()) {
    if (ints.empty()) return NoArg();  // PyTorch passes an omitted int[N] as an empty list
    if (ints.size() == 1) ints.resize(static_cast<size_t>(*arg.length), ints[0]);
  }
  return IntsArg(ints);
}

Result<uint32_t> Binder::MakeArange(double start, double step, int64_t count, DType dtype) {
  const auto key = std::tuple(start, step, count, dtype);
  if (const auto found = aranges_.find(key); found != aranges_.end()) return found->second;
  const size_t size = spirloom::ElementSize(dtype);
  SPIRLOOM_TRY_ASSIGN(const std::span bytes, graph_.Allocate(static_cast<size_t>(count) * size));
  for (int64_t i = 0; i < count; ++i) {
    const auto element = bytes.subspan(static_cast<size_t>(i) * size, size);
    SPIRLOOM_TRY(StoreScalar(start + static_cast<double>(i) * step, dtype, element));
  }
  return aranges_[key] = graph_.AddConstant("", dtype, {count}, bytes);
}

Result<uint32_t> Binder::SymIntScalar(const Call& call, const SymValue& sym, DType dtype) {
  const uint32_t value = graph_.AddTensor("", DType::kI32, {});
  SPIRLOOM_TRY(Add(call, "aten.select.int",
                   {{"x", TensorArg(values_.IntTensorOf(sym))},
                    {"dim", IntArg({0, 0})},
                    {"index", IntArg({0, 0})}},
                   {value}));
  if (dtype == DType::kI32) return value;
  const uint32_t result = graph_.AddTensor("", dtype, {});
  SPIRLOOM_TRY(Add(call, "aten._to_copy",
                   {{"x", TensorArg(value)}, {"dtype", TextArg(ShortName(dtype))}}, {result}));
  return result;
}

Result<uint32_t> Binder::SymIntVector(const Call& call, const SymValue& sym, DType dtype) {
  const auto element = values_.ElementOf(sym);
  if (element && graph_.dtype(element->tensor) == dtype) {
    const uint32_t result = graph_.AddTensor("", dtype, {1});
    const int64_t end = element->index == -1 ? kMaxSymInt : element->index + 1;
    NamedArgs named_args;
    named_args["x"] = TensorArg(element->tensor);
    named_args["dim"] = IntArg({0, 0});
    named_args["start"] = IntArg({element->index, 0});
    named_args["end"] = IntArg({end, 0});
    SPIRLOOM_TRY(Add(call, "aten.slice.Tensor", std::move(named_args), {result}));
    return result;
  }
  values_.CheckIndex(sym, sym.upper_bound);
  const uint32_t value = values_.IntTensorOf(sym);
  if (dtype == DType::kI32) return value;
  const uint32_t result = graph_.AddTensor("", dtype, {1});
  SPIRLOOM_TRY(Add(call, "aten._to_copy",
                   {{"x", TensorArg(value)}, {"dtype", TextArg(ShortName(dtype))}}, {result}));
  return result;
}

}  // namespace spirloom::delegate
