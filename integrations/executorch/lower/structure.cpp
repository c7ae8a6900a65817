#include "integrations/executorch/lower/structure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "integrations/executorch/lower/narrow.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using Given = std::map<std::string, schema::ArgT>;

std::vector<std::byte> BytesOf(std::span<const float> numbers) {
  const auto bytes = std::as_bytes(numbers);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Status Structure::Lower(const Call& call) {
  struct Row {
    std::string_view name;
    Rule rule;
  };
  static constexpr std::array kRules{
      Row{"et_vk.prepack", &Structure::First},
      Row{"aten.clone", &Structure::First},
      Row{"aten.alias_copy", &Structure::First},
      Row{"dim_order_ops._clone_dim_order", &Structure::First},
      Row{"aten.copy", &Structure::Second},
      Row{"aten._to_copy", &Structure::Cast},
      Row{"dim_order_ops._to_dim_order_copy", &Structure::Cast},
      Row{"sym_size.int", &Structure::Size},
      Row{"et_vk.select_as_symint", &Structure::Element},
      Row{"add", &Structure::Add},
      Row{"sub", &Structure::Sub},
      Row{"mul", &Structure::Mul},
      Row{"floordiv", &Structure::FloorDiv},
      Row{"lt", &Structure::Nothing},
      Row{"gt", &Structure::Nothing},
      Row{"le", &Structure::Nothing},
      Row{"ge", &Structure::Nothing},
      Row{"eq", &Structure::Nothing},
      Row{"_assert_scalar", &Structure::Nothing},
      Row{"sym_constrain_range_for_size", &Structure::Nothing},
      Row{"aten.split_with_sizes_copy", &Structure::Split},
      Row{"aten.index.Tensor", &Structure::Index},
      Row{"et_vk.conv_with_clamp", &Structure::ClampedConvolution},
      Row{"et_vk.q8ta_pixel_shuffle", &Structure::PixelShuffle},
      Row{"aten.arange.start_step", &Structure::Range},
      Row{"aten.slice_copy.Tensor", &Structure::Slice},
      Row{"aten.clamp", &Structure::Clamp},
      Row{"et_vk.grid_priors", &Structure::GridPriors},
      Row{"aten.eq.Scalar", &Structure::Compare},
      Row{"aten.ne.Scalar", &Structure::Compare},
      Row{"aten.lt.Scalar", &Structure::Compare},
      Row{"aten.le.Scalar", &Structure::Compare},
      Row{"aten.gt.Scalar", &Structure::Compare},
      Row{"aten.ge.Scalar", &Structure::Compare},
      Row{"aten._native_batch_norm_legit_no_training", &Structure::BatchNorm},
      Row{"aten.native_layer_norm", &Structure::LayerNorm},
      Row{"aten.native_group_norm", &Structure::GroupNorm},
  };
  const auto row = std::ranges::find(kRules, std::string_view(call.name), &Row::name);
  return row == kRules.end() ? binder_.Bind(call) : (this->*row->rule)(call);
}

Status Structure::Need(const Call& call, size_t args) const {
  if (ArgsOf(call).size() >= args) return Status();
  return InvalidFile(
      {Quote(call.name), " has ", ArgsOf(call).size(), " arguments instead of ", args, "."});
}

Status Structure::SameAs(const Call& call, size_t arg) {
  SPIRLOOM_TRY(Need(call, arg + 1));
  SPIRLOOM_TRY_ASSIGN(const uint32_t source, values_.TensorOf(call.args[arg]));
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (result == nullptr) return InvalidFile({DescribeValue(ResultOf(call)), " is no tensor."});
  if (DeviceType(result->type) == graph_.dtype(source) && result->shape != graph_.shape(source)) {
    return InvalidFile({"The sizes ", ToString(result->shape), " of ",
                        DescribeValue(ResultOf(call)), ", a copy, differ from ",
                        ToString(graph_.shape(source)), "."});
  }
  return DefineAs(call, ResultOf(call), source);
}

Status Structure::DefineAs(const Call& call, uint32_t id, uint32_t tensor) {
  const DType dtype = DeviceType(values_.tensor(id)->type);
  if (dtype == graph_.dtype(tensor)) return values_.Define(id, tensor);
  const uint32_t cast = values_.Declare(id);
  Given given;
  given["x"] = TensorArg(tensor);
  given["dtype"] = TextArg(ShortName(dtype));
  SPIRLOOM_TRY(binder_.Add(call, "aten._to_copy", std::move(given), {cast}));
  return values_.Define(id, cast);
}

Status Structure::First(const Call& call) { return SameAs(call, 0); }

Status Structure::Second(const Call& call) { return SameAs(call, 1); }

Status Structure::Cast(const Call& call) { return SameAs(call, 0); }

Status Structure::Nothing(const Call&) { return Status(); }

Status Structure::Size(const Call& call) {
  SPIRLOOM_TRY(Need(call, 2));
  SPIRLOOM_TRY_ASSIGN(const SymValue dim, values_.SymOf(call.args[1]));
  SPIRLOOM_TRY_ASSIGN(SymValue size, values_.SizeSym(call.args[0], dim.greatest));
  return values_.DefineSym(ResultOf(call), std::move(size));
}

Status Structure::Element(const Call& call) {
  SPIRLOOM_TRY(Need(call, 3));
  SPIRLOOM_TRY_ASSIGN(const SymValue dim, values_.SymOf(call.args[1]));
  SPIRLOOM_TRY_ASSIGN(const SymValue index, values_.SymOf(call.args[2]));
  SPIRLOOM_TRY_ASSIGN(SymValue element, values_.ElementSym(call.args[0], dim.greatest,
                                                           index.greatest, ResultOf(call)));
  return values_.DefineSym(ResultOf(call), std::move(element));
}

Status Structure::Combine(const Call& call, SymKind kind) {
  SPIRLOOM_TRY(Need(call, 2));
  SPIRLOOM_TRY_ASSIGN(const SymValue left, values_.SymOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const SymValue right, values_.SymOf(call.args[1]));
  return values_.DefineSym(ResultOf(call), values_.CombineSyms(kind, left, right));
}

// split_with_sizes_copy(x, sizes, dim): a slice for each.
Status Structure::Split(const Call& call) {
  SPIRLOOM_TRY(Need(call, 2));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* sizes = std::get_if<std::vector<int64_t>>(&values_.value(call.args[1]));
  const std::vector<uint32_t> results = binder_.Results(call);
  if (sizes == nullptr || sizes->size() != results.size()) {
    return Error(StatusCode::kUnsupported,
                 {"The sizes of a split are not ", results.size(), " ints that are known."});
  }
  int64_t dim = 0;
  if (ArgsOf(call).size() > 2) {
    SPIRLOOM_TRY_ASSIGN(const SymValue given, values_.SymOf(call.args[2]));
    dim = given.greatest;
  }
  int64_t start = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const int64_t end = start + (*sizes)[i];
    if (values_.tensor(results[i]) == nullptr || end < start) {
      return InvalidFile({"Part ", i, " of a split is no tensor of a size."});
    }
    const uint32_t part = values_.Declare(results[i]);
    Given given;
    given["x"] = TensorArg(x);
    given["dim"] = IntArg({dim, 0});
    given["start"] = IntArg({start, 0});
    given["end"] = IntArg({end, 0});
    SPIRLOOM_TRY(binder_.Add(call, "aten.slice.Tensor", std::move(given), {part}));
    SPIRLOOM_TRY(values_.Define(results[i], part));
    start = end;
  }
  return Status();
}

// index.Tensor(x, [none, …, indices]): one tensor of indices, along the dim that is its place.
Status Structure::Index(const Call& call) {
  SPIRLOOM_TRY(Need(call, 2));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* list = std::get_if<ValueList>(&values_.value(call.args[1]));
  std::vector<size_t> places;
  for (size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
    if (values_.tensor(list->items[i]) != nullptr) places.push_back(i);
  }
  if (places.size() != 1) {
    return Error(StatusCode::kUnsupported,
                 {"An index by ", places.size(), " tensors; one can be."});
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t indices, values_.TensorOf(list->items[places[0]]));
  if (values_.tensor(ResultOf(call)) == nullptr) {
    return InvalidFile({DescribeValue(ResultOf(call)), " is no tensor."});
  }
  const uint32_t result = values_.Declare(ResultOf(call));
  Given given;
  given["x"] = TensorArg(x);
  given["index0"] = TensorArg(indices);
  given["dim"] = IntArg({static_cast<int64_t>(places[0]), 0});
  SPIRLOOM_TRY(binder_.Add(call, "spirloom.index", std::move(given), {result}));
  return values_.Define(ResultOf(call), result);
}

// Where the convolution has no bounds of its own, a clamp after it.
Status Structure::ClampedConvolution(const Call& call) {
  if (binder_.Serves(call)) return binder_.Bind(call);
  constexpr size_t kConvolutionArgs = 9;
  SPIRLOOM_TRY(Need(call, kConvolutionArgs + 2));
  Call convolution{call.node_id, "aten.convolution", call.args};
  convolution.args.erase(convolution.args.begin() + kConvolutionArgs, convolution.args.end() - 1);
  SPIRLOOM_TRY(binder_.Bind(convolution));
  SPIRLOOM_TRY_ASSIGN(const uint32_t unbounded, values_.TensorOf(ResultOf(call)));
  const uint32_t result = values_.Declare(ResultOf(call));
  Given given;
  given["x"] = TensorArg(unbounded);
  for (const auto& [name, place] :
       {std::pair("min", kConvolutionArgs), std::pair("max", kConvolutionArgs + 1)}) {
    const Value& bound = values_.value(call.args[place]);
    if (const auto* number = std::get_if<double>(&bound)) {
      given[name] = FloatArg(std::clamp(*number, -HUGE_VAL, HUGE_VAL));
    } else if (const auto* whole = std::get_if<int64_t>(&bound)) {
      given[name] = FloatArg(static_cast<double>(*whole));
    } else if (!std::holds_alternative<std::monostate>(bound)) {
      return InvalidFile({DescribeValue(call.args[place]), " is no number."});
    }
  }
  SPIRLOOM_TRY(binder_.Add(call, "aten.clamp", std::move(given), {result}));
  values_.Replace(ResultOf(call), result);
  return Status();
}

// grid_priors(x, stride, offset): of each place of x's last two dims, its x and y: a constant.
Status Structure::GridPriors(const Call& call) {
  SPIRLOOM_TRY(Need(call, 3));
  const TensorValue* x = values_.tensor(call.args[0]);
  const TensorValue* result = values_.tensor(ResultOf(call));
  const auto* stride = std::get_if<int64_t>(&values_.value(call.args[1]));
  const auto* offset = std::get_if<double>(&values_.value(call.args[2]));
  if (x == nullptr || x->shape.size() < 2 || result == nullptr || stride == nullptr ||
      offset == nullptr || DeviceType(result->type) != DType::kF32) {
    return InvalidFile({Quote(call.name), " is not of a tensor, an int and a float."});
  }
  const int64_t height = x->shape[x->shape.size() - 2], width = x->shape.back();
  if (result->shape != Shape{height * width, 2}) {
    return InvalidFile({"The sizes ", ToString(result->shape), " of a grid of ", height, " by ",
                        width, " are others."});
  }
  std::vector<float> points;
  for (int64_t h = 0; h < height; ++h) {
    for (int64_t w = 0; w < width; ++w) {
      for (const int64_t place : {w, h}) {
        points.push_back(static_cast<float>((static_cast<double>(place) + *offset) *
                                            static_cast<double>(*stride)));
      }
    }
  }
  values_.Fix(call.name);
  const uint32_t grid = graph_.AddConstant("", DType::kF32, result->shape, BytesOf(points));
  return values_.Define(ResultOf(call), grid);
}

}  // namespace spirloom::delegate
