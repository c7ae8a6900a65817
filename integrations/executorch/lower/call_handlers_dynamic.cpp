// Operators whose arguments are symbolic ints: clamp, arange, slice. Comparisons with floats.
#include <cmath>
#include <cstdlib>
#include <utility>

#include "integrations/executorch/lower/call_handlers.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using NamedArgs = std::map<std::string, schema::ArgT>;

constexpr int64_t kMaxDenominator = 1024;  // of the step of an arange

// The value as a double; `otherwise` if it is absent; none if it is not constant.
std::optional<double> AsDouble(const Value& value, double otherwise) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (std::holds_alternative<std::monostate>(value)) return otherwise;
  return std::nullopt;
}

// Numerator and denominator of the value; none if the denominator exceeds kMaxDenominator.
std::optional<std::pair<int64_t, int64_t>> FractionOf(double value) {
  if (!(std::fabs(value) < kMaxTableSize)) return std::nullopt;
  for (int64_t parts = 1; parts <= kMaxDenominator; ++parts) {
    const double product = value * static_cast<double>(parts);
    if (std::nearbyint(product) == product) return std::pair(std::llround(product), parts);
  }
  return std::nullopt;
}

// Whether the range of `count` elements from `start` is computed from data: `start` is not an
// expression of sizes, and the number of elements is known and within a table.
bool IsDataRange(const SymValue& start, const std::optional<SymValue>& count) {
  return !start.expr && count && count->upper_bound >= 1 && count->upper_bound <= kMaxTableSize;
}

}  // namespace

// clamp(x, min, max) with a symbolic bound: minimum(maximum(x, min), max).
Status CallHandlers::Clamp(const Call& call) {
  const auto varies = [&](size_t i) {
    return i < ArgsOf(call).size() &&
           std::holds_alternative<SymIntValue>(values_.value(call.args[i]));
  };
  if (!varies(1) && !varies(2)) return binder_.Bind(call);
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (result == nullptr) return InvalidFile("{} is not a tensor.", DescribeValue(ResultOf(call)));
  SPIRLOOM_TRY_ASSIGN(uint32_t y, values_.TensorOf(call.args[0]));
  const DType dtype = DeviceType(result->type);
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (i >= ArgsOf(call).size()) continue;
    const Value& bound = values_.value(call.args[i]);
    if (std::holds_alternative<std::monostate>(bound)) continue;
    uint32_t bound_tensor = 0;
    if (const auto* fixed = std::get_if<double>(&bound)) {
      SPIRLOOM_TRY_ASSIGN(bound_tensor, values_.ScalarOf(*fixed, dtype));
    } else {
      SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(call.args[i]));
      if (varies(i)) {
        SPIRLOOM_TRY_ASSIGN(bound_tensor, binder_.SymIntScalar(call, sym, dtype));
      } else {
        SPIRLOOM_TRY_ASSIGN(bound_tensor,
                            values_.ScalarOf(static_cast<double>(sym.upper_bound), dtype));
      }
    }
    const uint32_t bounded = graph_.AddTensor("", dtype, result->shape);
    NamedArgs named_args;
    named_args["a"] = TensorArg(y);
    named_args["b"] = TensorArg(bound_tensor);
    SPIRLOOM_TRY(binder_.Add(call, i == 1 ? "aten.maximum" : "aten.minimum", std::move(named_args),
                             {bounded}));
    y = bounded;
  }
  return values_.Define(ResultOf(call), y);
}

// An integer tensor is compared with a non-integer scalar in float, as in PyTorch.
Status CallHandlers::Compare(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 2));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* scalar = std::get_if<double>(&values_.value(call.args[1]));
  const bool is_integer = scalar == nullptr || std::nearbyint(*scalar) == *scalar;
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (is_integer || IsFloat(graph_.dtype(x)) || result == nullptr) return binder_.Bind(call);
  const uint32_t a = graph_.AddTensor("", DType::kF32, graph_.shape(x));
  SPIRLOOM_TRY(binder_.Add(call, "aten._to_copy",
                           {{"x", TensorArg(x)}, {"dtype", TextArg(ShortName(DType::kF32))}}, {a}));
  SPIRLOOM_TRY_ASSIGN(const uint32_t b, values_.ScalarOf(*scalar, DType::kF32));
  const std::string op = call.name.substr(0, call.name.rfind('.')) + ".Tensor";
  const uint32_t y = values_.Declare(ResultOf(call));
  SPIRLOOM_TRY(binder_.Add(call, op, {{"a", TensorArg(a)}, {"b", TensorArg(b)}}, {y}));
  return values_.Define(ResultOf(call), y);
}

// arange(start, end, step) with a symbolic start or end.
Status CallHandlers::Arange(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 3));
  const auto varies = [&](size_t i) {
    return std::holds_alternative<SymIntValue>(values_.value(call.args[i]));
  };
  if (!varies(0) && !varies(1) && !varies(2)) return binder_.Bind(call);
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (result == nullptr || result->shape.size() != 1) {
    return InvalidFile("{}, the result of an arange, is not a tensor of rank 1.",
                       DescribeValue(ResultOf(call)));
  }
  const std::optional<double> step = AsDouble(values_.value(call.args[2]), 1);
  if (!step.has_value()) {
    return Error(StatusCode::kUnsupported, "The step of an arange is not constant.");
  }
  return varies(0) ? ArangeDynamicStart(call, *step) : ArangeDynamicEnd(call, *step);
}

// With a symbolic start: start + 0, 1, 2, …, or a slice of the constant 0, 1, 2, … if the number of
// elements is not an expression of sizes.
Status CallHandlers::ArangeDynamicStart(const Call& call, double step) {
  SPIRLOOM_TRY_ASSIGN(const SymValue start, values_.SymOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const SymValue end, values_.SymOf(call.args[1]));
  const int64_t max = end.upper_bound;
  if (!(step >= 1 && step <= kMaxTableSize) || std::nearbyint(step) != step || max < 0 ||
      max > kMaxTableSize) {
    return Error(StatusCode::kUnsupported,
                 "An arange with a dynamic start has step {} and end {}; expected a positive "
                 "integer step and an end between 0 and {}.",
                 std::to_string(step), max, kMaxTableSize);
  }
  const DType dtype = DeviceType(values_.tensor(ResultOf(call))->type);
  const std::optional<SymValue> count = values_.Difference(end, start);
  if (step == 1 && IsDataRange(start, count)) {
    SPIRLOOM_TRY_ASSIGN(const uint32_t range, RangeFrom(call, start, *count, dtype));
    return values_.Define(ResultOf(call), range);
  }
  SPIRLOOM_TRY_ASSIGN(const SizedInt first, values_.CheckedIndex(start, start.upper_bound));
  SPIRLOOM_TRY_ASSIGN(const SizedInt last, values_.CheckedIndex(end, max));
  SPIRLOOM_TRY_ASSIGN(const uint32_t values, binder_.MakeArange(0, 1, max, dtype));
  return DefineSlice(call, values, first, last, static_cast<int64_t>(step));
}

// With a symbolic end: the first ceil((end - start) / step) elements of the longest range, a
// constant.
Status CallHandlers::ArangeDynamicEnd(const Call& call, double step) {
  const std::optional<double> start = AsDouble(values_.value(call.args[0]), 0);
  const auto first = start ? FractionOf(*start) : std::nullopt;
  const auto fraction = FractionOf(step);
  const int64_t max = values_.tensor(ResultOf(call))->shape[0];
  if (!first || first->second != 1 || !fraction || step == 0 || max > kMaxTableSize) {
    return Error(StatusCode::kUnsupported,
                 "An arange with a dynamic end has step {} and {} elements; expected an integer "
                 "start, a rational step with a denominator up to {} and at most {} elements.",
                 std::to_string(step), max, kMaxDenominator, kMaxTableSize);
  }
  const auto constant = [&](int64_t value) { return values_.ConstantSym(value); };
  const int64_t stride = std::abs(fraction->first);
  SPIRLOOM_TRY_ASSIGN(const SymValue end, values_.SymOf(call.args[1]));
  SymValue count = step > 0 ? values_.CombineSyms(SymKind::kSub, end, constant(first->first))
                            : values_.CombineSyms(SymKind::kSub, constant(first->first), end);
  count = values_.CombineSyms(SymKind::kMul, count, constant(fraction->second));
  count = values_.CombineSyms(SymKind::kAdd, count, constant(stride - 1));
  count = values_.CombineSyms(SymKind::kFloorDiv, count, constant(stride));
  if (count.upper_bound < 0 || count.upper_bound > max) {
    return InvalidFile("An arange has {} elements; its tensor has {}.", count.upper_bound, max);
  }
  SPIRLOOM_TRY_ASSIGN(const SizedInt last, values_.CheckedIndex(count, max));
  const DType dtype = DeviceType(values_.tensor(ResultOf(call))->type);
  SPIRLOOM_TRY_ASSIGN(const uint32_t values, binder_.MakeArange(*start, step, max, dtype));
  return DefineSlice(call, values, {0, 0}, last, 1);
}

Result<uint32_t> CallHandlers::RangeFrom(const Call& call, const SymValue& start,
                                         const SymValue& count, DType dtype) {
  SPIRLOOM_TRY_ASSIGN(const uint32_t first, binder_.SymIntVector(call, start, dtype));
  SPIRLOOM_TRY_ASSIGN(const uint32_t values, binder_.MakeArange(0, 1, count.upper_bound, dtype));
  SPIRLOOM_TRY_ASSIGN(const SizedInt size, values_.Sized(count));
  const Shape shape{count.upper_bound};
  SPIRLOOM_TRY_ASSIGN(const uint32_t steps,
                      Compute(call, "aten.slice.Tensor", dtype, shape,
                              {{"x", TensorArg(values)}, {"end", IntArg(size)}}));
  return Compute(call, "aten.add.Tensor", dtype, shape,
                 {{"a", TensorArg(steps)}, {"b", TensorArg(first)}});
}

// slice_copy(x, dim, start, start + count) with a start that is an int input or an element of an
// input. The rows are gathered: the start is data, and another start needs no new execution plan.
Status CallHandlers::Slice(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 4));
  if (!std::holds_alternative<SymIntValue>(values_.value(call.args[2])) ||
      !std::holds_alternative<SymIntValue>(values_.value(call.args[3]))) {
    return binder_.Bind(call);
  }
  SPIRLOOM_TRY_ASSIGN(const SymValue start, values_.SymOf(call.args[2]));
  SPIRLOOM_TRY_ASSIGN(const SymValue end, values_.SymOf(call.args[3]));
  const std::optional<SymValue> count = values_.Difference(end, start);
  const std::optional<double> step =
      ArgsOf(call).size() > 4 ? AsDouble(values_.value(call.args[4]), 1) : 1;
  if (!IsDataRange(start, count) || step != 1) return binder_.Bind(call);
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const int64_t d, IndexedDim(call, x));
  values_.CheckIndex(start, graph_.shape(x)[static_cast<size_t>(d)]);
  values_.CheckIndex(end, graph_.shape(x)[static_cast<size_t>(d)]);
  SPIRLOOM_TRY_ASSIGN(const uint32_t rows, RangeFrom(call, start, *count, DType::kI32));
  const uint32_t result = values_.Declare(ResultOf(call));
  NamedArgs named_args{{"x", TensorArg(x)}, {"dim", IntArg({d, 0})}, {"index", TensorArg(rows)}};
  SPIRLOOM_TRY(binder_.Add(call, "aten.index_select", std::move(named_args), {result}));
  return values_.Define(ResultOf(call), result);
}

// select_copy(x, dim, index) with an index that is data.
Status CallHandlers::Select(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 3));
  if (!std::holds_alternative<SymIntValue>(values_.value(call.args[2]))) return binder_.Bind(call);
  SPIRLOOM_TRY_ASSIGN(const SymValue index, values_.SymOf(call.args[2]));
  if (index.expr) return binder_.Bind(call);
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const int64_t d, IndexedDim(call, x));
  Shape shape = graph_.shape(x);
  values_.CheckIndex(index, shape[static_cast<size_t>(d)] - 1);
  SPIRLOOM_TRY_ASSIGN(const uint32_t row, binder_.SymIntVector(call, index, DType::kI32));
  shape[static_cast<size_t>(d)] = 1;
  SPIRLOOM_TRY_ASSIGN(
      const uint32_t rows,
      Compute(call, "aten.index_select", graph_.dtype(x), shape,
              {{"x", TensorArg(x)}, {"dim", IntArg({d, 0})}, {"index", TensorArg(row)}}));
  const uint32_t result = values_.Declare(ResultOf(call));
  NamedArgs named_args{{"x", TensorArg(rows)}, {"dim", IntArg({d, 0})}, {"index", IntArg({0, 0})}};
  SPIRLOOM_TRY(binder_.Add(call, "aten.select.int", std::move(named_args), {result}));
  return values_.Define(ResultOf(call), result);
}

Result<int64_t> CallHandlers::IndexedDim(const Call& call, uint32_t x) {
  SPIRLOOM_TRY_ASSIGN(const SymValue dim, values_.SymOf(call.args[1]));
  const auto rank = static_cast<int64_t>(graph_.shape(x).size());
  const int64_t d = dim.upper_bound < 0 ? dim.upper_bound + rank : dim.upper_bound;
  if (d >= 0 && d < rank && values_.tensor(ResultOf(call)) != nullptr) return d;
  return InvalidFile("Dim ({}) of {} is out of range of rank {}.", dim.upper_bound,
                     Quote(call.name), rank);
}

Status CallHandlers::DefineSlice(const Call& call, uint32_t tensor, SizedInt start, SizedInt end,
                                 int64_t step) {
  const uint32_t part = values_.Declare(ResultOf(call));
  NamedArgs named_args;
  named_args["x"] = TensorArg(tensor);
  named_args["start"] = IntArg(start);
  named_args["end"] = IntArg(end);
  named_args["step"] = IntArg({step, 0});
  SPIRLOOM_TRY(binder_.Add(call, "aten.slice.Tensor", std::move(named_args), {part}));
  return values_.Define(ResultOf(call), part);
}

}  // namespace spirloom::delegate
