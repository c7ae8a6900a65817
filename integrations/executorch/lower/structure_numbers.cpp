// Numbers that vary from run to run, and ranges of them.
#include <cmath>
#include <cstdlib>
#include <utility>

#include "integrations/executorch/lower/structure.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using Given = std::map<std::string, schema::ArgT>;

constexpr int64_t kMostParts = 1024;  // of 1, in a step

// The number that the value is; `otherwise` if it is absent.
std::optional<double> NumberOf(const Value& value, double otherwise) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  if (std::holds_alternative<std::monostate>(value)) return otherwise;
  return std::nullopt;
}

// A number as a fraction; none if its parts are too small.
std::optional<std::pair<int64_t, int64_t>> FractionOf(double number) {
  if (!(std::fabs(number) < kMostNumbers)) return std::nullopt;
  for (int64_t parts = 1; parts <= kMostParts; ++parts) {
    const double product = number * static_cast<double>(parts);
    if (std::nearbyint(product) == product) return std::pair(std::llround(product), parts);
  }
  return std::nullopt;
}

bool IsFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16; }

}  // namespace

// clamp(x, min, max) between numbers that vary: the maximum, then the minimum, with them.
Status Structure::Clamp(const Call& call) {
  const auto varies = [&](size_t i) {
    return i < ArgsOf(call).size() &&
           std::holds_alternative<SymIntValue>(values_.value(call.args[i]));
  };
  if (!varies(1) && !varies(2)) return binder_.Bind(call);
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (result == nullptr) return InvalidFile({DescribeValue(ResultOf(call)), " is no tensor."});
  SPIRLOOM_TRY_ASSIGN(uint32_t y, values_.TensorOf(call.args[0]));
  const DType dtype = DeviceType(result->type);
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (i >= ArgsOf(call).size()) continue;
    const Value& bound = values_.value(call.args[i]);
    if (std::holds_alternative<std::monostate>(bound)) continue;
    uint32_t number = 0;
    if (const auto* fixed = std::get_if<double>(&bound)) {
      SPIRLOOM_TRY_ASSIGN(number, values_.ScalarOf(*fixed, dtype));
    } else {
      SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(call.args[i]));
      if (varies(i)) {
        SPIRLOOM_TRY_ASSIGN(number, binder_.NumberTensor(call, sym, dtype));
      } else {
        SPIRLOOM_TRY_ASSIGN(number, values_.ScalarOf(static_cast<double>(sym.greatest), dtype));
      }
    }
    const uint32_t bounded = graph_.AddTensor("", dtype, result->shape);
    Given given;
    given["a"] = TensorArg(y);
    given["b"] = TensorArg(number);
    SPIRLOOM_TRY(
        binder_.Add(call, i == 1 ? "aten.maximum" : "aten.minimum", std::move(given), {bounded}));
    y = bounded;
  }
  return values_.Define(ResultOf(call), y);
}

// Of a tensor of ints with a number between two: as floats, like PyTorch.
Status Structure::Compare(const Call& call) {
  SPIRLOOM_TRY(Need(call, 2));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* number = std::get_if<double>(&values_.value(call.args[1]));
  const bool is_whole = number == nullptr || std::nearbyint(*number) == *number;
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (is_whole || IsFloat(graph_.dtype(x)) || result == nullptr) return binder_.Bind(call);
  const uint32_t a = graph_.AddTensor("", DType::kF32, graph_.shape(x));
  SPIRLOOM_TRY(binder_.Add(call, "aten._to_copy",
                           {{"x", TensorArg(x)}, {"dtype", TextArg(ShortName(DType::kF32))}}, {a}));
  SPIRLOOM_TRY_ASSIGN(const uint32_t b, values_.ScalarOf(*number, DType::kF32));
  const std::string op = call.name.substr(0, call.name.rfind('.')) + ".Tensor";
  const uint32_t y = values_.Declare(ResultOf(call));
  SPIRLOOM_TRY(binder_.Add(call, op, {{"a", TensorArg(a)}, {"b", TensorArg(b)}}, {y}));
  return values_.Define(ResultOf(call), y);
}

// arange(start, end, step) of numbers that vary.
Status Structure::Range(const Call& call) {
  SPIRLOOM_TRY(Need(call, 3));
  const auto varies = [&](size_t i) {
    return std::holds_alternative<SymIntValue>(values_.value(call.args[i]));
  };
  if (!varies(0) && !varies(1) && !varies(2)) return binder_.Bind(call);
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (result == nullptr || result->shape.size() != 1) {
    return InvalidFile({DescribeValue(ResultOf(call)), ", a range, is no list of numbers."});
  }
  const std::optional<double> step = NumberOf(values_.value(call.args[2]), 1);
  if (!step.has_value()) {
    return Error(StatusCode::kUnsupported, {"The step of a range varies."});
  }
  return varies(0) ? MovingRange(call, *step) : GrowingRange(call, *step);
}

// The start varies: a slice of the whole numbers, a constant.
Status Structure::MovingRange(const Call& call, double step) {
  SPIRLOOM_TRY_ASSIGN(const SymValue start, values_.SymOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const SymValue end, values_.SymOf(call.args[1]));
  const int64_t most = end.greatest;
  if (step < 1 || std::nearbyint(step) != step || most < 0 || most > kMostNumbers) {
    return Error(
        StatusCode::kUnsupported,
        {"A range whose start varies has the step ", std::to_string(step), " and ends at ", most,
         "; the step must be a whole number above 0, the end between 0 and ", kMostNumbers, "."});
  }
  SPIRLOOM_TRY_ASSIGN(const SizedInt first, values_.Place(start, start.greatest));
  SPIRLOOM_TRY_ASSIGN(const SizedInt last, values_.Place(end, most));
  const DType dtype = DeviceType(values_.tensor(ResultOf(call))->type);
  SPIRLOOM_TRY_ASSIGN(const uint32_t numbers, binder_.Counting(0, 1, most, dtype));
  return DefineSlice(call, numbers, first, last, static_cast<int64_t>(step));
}

// The end varies: the beginning of the longest range, a constant, of
// ceil((end - start) / step) numbers.
Status Structure::GrowingRange(const Call& call, double step) {
  const std::optional<double> start = NumberOf(values_.value(call.args[0]), 0);
  const auto first = start ? FractionOf(*start) : std::nullopt;
  const auto fraction = FractionOf(step);
  const int64_t most = values_.tensor(ResultOf(call))->shape[0];
  if (!first || first->second != 1 || !fraction || step == 0 || most > kMostNumbers) {
    return Error(
        StatusCode::kUnsupported,
        {"A range whose end varies starts at no whole number, has the step ", std::to_string(step),
         ", no fraction, or more than ", kMostNumbers, " numbers (", most, ")."});
  }
  const auto constant = [&](int64_t number) { return values_.ConstantSym(number); };
  const int64_t stride = std::abs(fraction->first);
  SPIRLOOM_TRY_ASSIGN(const SymValue end, values_.SymOf(call.args[1]));
  SymValue count = step > 0 ? values_.CombineSyms(SymKind::kSub, end, constant(first->first))
                            : values_.CombineSyms(SymKind::kSub, constant(first->first), end);
  count = values_.CombineSyms(SymKind::kMul, count, constant(fraction->second));
  count = values_.CombineSyms(SymKind::kAdd, count, constant(stride - 1));
  count = values_.CombineSyms(SymKind::kFloorDiv, count, constant(stride));
  if (count.greatest < 0 || count.greatest > most) {
    return InvalidFile({"A range of ", count.greatest, " numbers is declared as ", most, "."});
  }
  SPIRLOOM_TRY_ASSIGN(const SizedInt last, values_.Place(count, most));
  const DType dtype = DeviceType(values_.tensor(ResultOf(call))->type);
  SPIRLOOM_TRY_ASSIGN(const uint32_t numbers, binder_.Counting(*start, step, most, dtype));
  return DefineSlice(call, numbers, {0, 0}, last, 1);
}

// slice_copy(x, dim, start, start + count): rows from a place on that an input tells. They are
// gathered, so that the place stays on the device and no run of another one is prepared anew.
Status Structure::Slice(const Call& call) {
  SPIRLOOM_TRY(Need(call, 4));
  if (!std::holds_alternative<SymIntValue>(values_.value(call.args[2])) ||
      !std::holds_alternative<SymIntValue>(values_.value(call.args[3]))) {
    return binder_.Bind(call);
  }
  SPIRLOOM_TRY_ASSIGN(const SymValue start, values_.SymOf(call.args[2]));
  SPIRLOOM_TRY_ASSIGN(const SymValue end, values_.SymOf(call.args[3]));
  const std::optional<SymValue> count = values_.Difference(end, start);
  const std::optional<double> step =
      ArgsOf(call).size() > 4 ? NumberOf(values_.value(call.args[4]), 1) : 1;
  if (!values_.ElementOf(start) || !count || count->greatest < 1 ||
      count->greatest > kMostNumbers || step != 1) {
    return binder_.Bind(call);
  }
  SPIRLOOM_TRY_ASSIGN(const SymValue dim, values_.SymOf(call.args[1]));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto rank = static_cast<int64_t>(graph_.shape(x).size());
  const int64_t d = dim.greatest < 0 ? dim.greatest + rank : dim.greatest;
  if (d < 0 || d >= rank || values_.tensor(ResultOf(call)) == nullptr) {
    return InvalidFile({"Dim ", dim.greatest, " of a slice is none of ", rank, "."});
  }
  values_.Check(start, graph_.shape(x)[static_cast<size_t>(d)]);
  values_.Check(end, graph_.shape(x)[static_cast<size_t>(d)]);
  SPIRLOOM_TRY_ASSIGN(const uint32_t first, binder_.NumberList(call, start, DType::kI32));
  SPIRLOOM_TRY_ASSIGN(const uint32_t numbers, binder_.Counting(0, 1, count->greatest, DType::kI32));
  SPIRLOOM_TRY_ASSIGN(const SizedInt size, values_.Sized(*count));
  const uint32_t steps = graph_.AddTensor("", DType::kI32, {count->greatest});
  Given part{{"x", TensorArg(numbers)}, {"end", IntArg(size)}};
  SPIRLOOM_TRY(binder_.Add(call, "aten.slice.Tensor", std::move(part), {steps}));
  const uint32_t rows = graph_.AddTensor("", DType::kI32, {count->greatest});
  Given sum{{"a", TensorArg(steps)}, {"b", TensorArg(first)}};
  SPIRLOOM_TRY(binder_.Add(call, "aten.add.Tensor", std::move(sum), {rows}));
  const uint32_t result = values_.Declare(ResultOf(call));
  Given given{{"x", TensorArg(x)}, {"dim", IntArg({d, 0})}, {"index", TensorArg(rows)}};
  SPIRLOOM_TRY(binder_.Add(call, "aten.index_select", std::move(given), {result}));
  return values_.Define(ResultOf(call), result);
}

Status Structure::DefineSlice(const Call& call, uint32_t tensor, SizedInt start, SizedInt end,
                              int64_t step) {
  const uint32_t part = values_.Declare(ResultOf(call));
  Given given;
  given["x"] = TensorArg(tensor);
  given["start"] = IntArg(start);
  given["end"] = IntArg(end);
  given["step"] = IntArg({step, 0});
  SPIRLOOM_TRY(binder_.Add(call, "aten.slice.Tensor", std::move(given), {part}));
  return values_.Define(ResultOf(call), part);
}

}  // namespace spirloom::delegate
