// The values of a call as arguments of the node that it becomes.
#include <utility>

#include "integrations/executorch/lower/arguments.h"
#include "integrations/executorch/lower/binder.h"
#include "integrations/executorch/lower/narrow.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using Given = std::map<std::string, schema::ArgT>;

bool IsFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16; }

bool IsWhole(const Value& value) {
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
      if (list == nullptr) return InvalidFile({DescribeValue(id), " is no list of tensors."});
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
      return ToNumber(id);
    case ArgType::kBool:
      if (const auto* flag = std::get_if<bool>(&value)) return BoolArg(*flag);
      return InvalidFile({DescribeValue(id), " is no bool."});
    case ArgType::kInts:
      return ToInts(arg, id);
    case ArgType::kString:
      if (const auto* text = std::get_if<std::string>(&value)) return TextArg(*text);
      return InvalidFile({DescribeValue(id), " is no text."});
  }
  return NoArg();
}

Result<schema::ArgT> Binder::ToTensor(const ArgInfo& arg, uint32_t id, const Call& call) {
  const Value& value = values_.value(id);
  if (values_.tensor(id) == nullptr) {
    std::optional<DType> dtype = arg.dtype;
    if (!dtype) dtype = arg.any_dtype && IsWhole(value) ? DType::kI32 : DTypeOf(call);
    if (dtype && std::holds_alternative<SymIntValue>(value)) {
      SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(id));
      SPIRLOOM_TRY_ASSIGN(const uint32_t number, arg.dtype ? NumberList(call, sym, *dtype)
                                                           : NumberTensor(call, sym, *dtype));
      return TensorArg(number);
    }
    std::optional<double> number;
    if (const auto* i = std::get_if<int64_t>(&value)) number = static_cast<double>(*i);
    if (const auto* d = std::get_if<double>(&value)) number = AsFloat(*d);
    if (const auto* b = std::get_if<bool>(&value)) number = *b ? 1.0 : 0.0;
    if (!number || !dtype) return InvalidFile({DescribeValue(id), " is no tensor."});
    SPIRLOOM_TRY_ASSIGN(const uint32_t scalar,
                        values_.ScalarOf(*number, *dtype, arg.dtype ? Shape{1} : Shape()));
    return TensorArg(scalar);
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, values_.TensorOf(id));
  const DType given = graph_.dtype(tensor);
  if (!arg.dtype || *arg.dtype == given || !IsFloat(*arg.dtype) || !IsFloat(given)) {
    return TensorArg(tensor);
  }
  const uint32_t cast = graph_.AddTensor("", *arg.dtype, graph_.shape(tensor));
  SPIRLOOM_TRY(Add(call, "aten._to_copy",
                   {{"x", TensorArg(tensor)}, {"dtype", TextArg(ShortName(*arg.dtype))}}, {cast}));
  return TensorArg(cast);
}

Result<schema::ArgT> Binder::ToNumber(uint32_t id) {
  const Value& value = values_.value(id);
  if (const auto* number = std::get_if<double>(&value)) return FloatArg(AsFloat(*number));
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return FloatArg(static_cast<double>(*whole));
  }
  if (const auto* flag = std::get_if<bool>(&value)) return FloatArg(*flag ? 1.0 : 0.0);
  if (std::holds_alternative<SymIntValue>(value)) {
    return Error(StatusCode::kUnsupported,
                 {DescribeValue(id), ", a number that varies from run to run, is a float here."});
  }
  return InvalidFile({DescribeValue(id), " is no number."});
}

Result<schema::ArgT> Binder::ToInts(const ArgInfo& arg, uint32_t id) {
  const Value& value = values_.value(id);
  std::vector<SizedInt> ints;
  if (const auto* items = std::get_if<std::vector<int64_t>>(&value)) {
    for (const int64_t item : *items) ints.push_back({item, 0});
  } else if (const auto* flags = std::get_if<std::vector<bool>>(&value)) {
    // An empty list of the format is one of ints and one of bools.
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
    if (ints.empty()) return NoArg();  // PyTorch's way to leave out a list of a fixed length
    if (ints.size() == 1) ints.resize(static_cast<size_t>(*arg.length), ints[0]);
  }
  return IntsArg(ints);
}

Result<uint32_t> Binder::Counting(double start, double step, int64_t count, DType dtype) {
  const size_t size = spirloom::ElementSize(dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
  for (int64_t i = 0; i < count; ++i) {
    const auto place = std::span(bytes).subspan(static_cast<size_t>(i) * size, size);
    SPIRLOOM_TRY(StoreNumber(start + static_cast<double>(i) * step, dtype, place));
  }
  return graph_.AddConstant("", dtype, {count}, std::move(bytes));
}

Result<uint32_t> Binder::NumberTensor(const Call& call, const SymValue& number, DType dtype) {
  if (number.greatest < 0 || number.greatest > kMostNumbers) {
    return Error(StatusCode::kUnsupported, {"A number that varies up to ", number.greatest,
                                            " is not between 0 and ", kMostNumbers, "."});
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t numbers, Counting(0, 1, number.greatest + 1, dtype));
  SPIRLOOM_TRY_ASSIGN(const SizedInt index, values_.Place(number, number.greatest));
  const uint32_t result = graph_.AddTensor("", dtype, {});
  Given given;
  given["x"] = TensorArg(numbers);
  given["dim"] = IntArg({0, 0});
  given["index"] = IntArg(index);
  SPIRLOOM_TRY(Add(call, "aten.select.int", std::move(given), {result}));
  return result;
}

Result<uint32_t> Binder::NumberList(const Call& call, const SymValue& number, DType dtype) {
  const uint32_t result = graph_.AddTensor("", dtype, {1});
  Given given;
  if (const auto element = values_.ElementOf(number);
      element && graph_.dtype(element->tensor) == dtype) {
    const int64_t end = element->index == -1 ? kMostSize : element->index + 1;
    given["x"] = TensorArg(element->tensor);
    given["dim"] = IntArg({0, 0});
    given["start"] = IntArg({element->index, 0});
    given["end"] = IntArg({end, 0});
    SPIRLOOM_TRY(Add(call, "aten.slice.Tensor", std::move(given), {result}));
    return result;
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t scalar, NumberTensor(call, number, dtype));
  given["x"] = TensorArg(scalar);
  given["dim"] = IntArg({0, 0});
  SPIRLOOM_TRY(Add(call, "aten.unsqueeze", std::move(given), {result}));
  return result;
}

}  // namespace spirloom::delegate
