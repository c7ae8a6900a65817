// Quantized operators whose arguments or results need conversion, and those that several nodes
// compute.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "integrations/executorch/lower/arguments.h"
#include "integrations/executorch/lower/call_handlers.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {

using NamedArgs = std::map<std::string, schema::ArgT>;

// q8ta_pixel_shuffle(x, x_scale, x_zero, 1 / y_scale, y_zero, factor): requantize, then shuffle.
Status CallHandlers::PixelShuffle(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 6));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* scale = std::get_if<double>(&values_.value(call.args[1]));
  const auto* inverse = std::get_if<double>(&values_.value(call.args[3]));
  if (scale == nullptr || inverse == nullptr || *inverse == 0) {
    const uint32_t id = call.args[scale == nullptr ? 1 : 3];
    return InvalidFile("{} is not a scale; expected a nonzero float.", DescribeValue(id));
  }
  SPIRLOOM_TRY_ASSIGN(const SymValue x_zero, values_.SymOf(call.args[2]));
  SPIRLOOM_TRY_ASSIGN(const SymValue y_zero, values_.SymOf(call.args[4]));
  SPIRLOOM_TRY_ASSIGN(const SymValue factor, values_.SymOf(call.args[5]));
  if (values_.tensor(ResultOf(call)) == nullptr) {
    return InvalidFile("{}, a result, is not a tensor.", DescribeValue(ResultOf(call)));
  }
  const uint32_t rescaled = graph_.AddTensor("", graph_.dtype(x), graph_.shape(x));
  NamedArgs rescale_args;
  rescale_args["a"] = TensorArg(x);
  rescale_args["a_scale"] = FloatArg(*scale);
  rescale_args["a_zero"] = IntArg({x_zero.upper_bound, 0});
  rescale_args["y_scale"] = FloatArg(1.0 / *inverse);
  rescale_args["y_zero"] = IntArg({y_zero.upper_bound, 0});
  SPIRLOOM_TRY(binder_.Add(call, "spirloom.rescale_i8", std::move(rescale_args), {rescaled}));
  const uint32_t y = values_.Declare(ResultOf(call));
  NamedArgs shuffle_args{{"x", TensorArg(rescaled)},
                         {"upscale_factor", IntArg({factor.upper_bound, 0})}};
  SPIRLOOM_TRY(binder_.Add(call, "aten.pixel_shuffle", std::move(shuffle_args), {y}));
  return values_.Define(ResultOf(call), y);
}

// linear_qcs4w(x, weight, scales): int4 weights with a scale per row. The first code of a byte is
// in the high nibble; spirloom.linear_w4 expects it in the low one.
Status CallHandlers::LinearPacked4(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 3));
  SPIRLOOM_TRY_ASSIGN(const auto packed, values_.ConstantOf(call.args[1]));
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (!packed || result == nullptr) {
    return Error(StatusCode::kUnsupported, "{}, packed int4 weights, is not constant.",
                 DescribeValue(call.args[1]));
  }
  SPIRLOOM_TRY_ASSIGN(const std::span swapped, graph_.Allocate(packed->size()));
  std::ranges::transform(*packed, swapped.begin(),
                         [](std::byte codes) { return codes << 4 | codes >> 4; });
  NamedArgs args;
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const uint32_t scales, values_.TensorOf(call.args[2]));
  args["x"] = TensorArg(x);
  args["weight"] =
      TensorArg(graph_.AddConstant("", DType::kU8, values_.tensor(call.args[1])->shape, swapped));
  args["scales"] = TensorArg(scales);
  args["group"] = IntArg({0, 0});
  const uint32_t y = values_.Declare(ResultOf(call));
  SPIRLOOM_TRY(binder_.Add(call, "spirloom.linear_w4", std::move(args), {y}));
  return values_.Define(ResultOf(call), y);
}

// linear_q8ta_q8csw(x, x_scale, x_zero, weight, sums, scales, bias): an int8 layer without
// requantization. Programs declare its result as int8.
Status CallHandlers::LinearToFloats(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 7));
  const auto* scale = std::get_if<double>(&values_.value(call.args[1]));
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (scale == nullptr || result == nullptr) {
    return InvalidFile("{}: expected a constant scale and a tensor as result.", Quote(call.name));
  }
  NamedArgs args{{"x_scale", FloatArg(*scale)}, {"dtype", TextArg(ShortName(DType::kF32))}};
  SPIRLOOM_TRY_ASSIGN(const SymValue zero, values_.SymOf(call.args[2]));
  args["x_zero"] = IntArg({zero.upper_bound, 0});
  for (const auto& [name, index] : {std::pair("x", 0), {"weight", 3}, {"scales", 5}, {"bias", 6}}) {
    const uint32_t id = call.args[static_cast<size_t>(index)];
    if (IsAbsent(values_.value(id))) continue;
    SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, values_.TensorOf(id));
    args[name] = TensorArg(tensor);
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t y, Compute(call, "spirloom.linear_i8", DType::kF32,
                                                result->shape, std::move(args)));
  return values_.Define(ResultOf(call), y);
}

// embedding_4bit(weight, scales, zero points, -8, 7, index): the number of columns of the scales
// gives the group size.
Status CallHandlers::Embedding4(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 6));
  SPIRLOOM_TRY_ASSIGN(const uint32_t weight, values_.TensorOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const uint32_t scales, values_.TensorOf(call.args[1]));
  SPIRLOOM_TRY_ASSIGN(const uint32_t index, values_.TensorOf(call.args[5]));
  const TensorValue* result = values_.tensor(ResultOf(call));
  const Shape& table = graph_.shape(weight);
  const Shape& shape = graph_.shape(scales);
  const int64_t groups = shape.size() == 2 ? shape[1] : 1;
  if (result == nullptr || table.size() != 2 || groups < 1 || 2 * table[1] % groups != 0) {
    return InvalidFile("{}: the scales {} do not divide the rows of the table {}.",
                       Quote(call.name), ToString(shape), ToString(table));
  }
  const DType dtype = DeviceType(result->type);
  NamedArgs args{{"weight", TensorArg(weight)}, {"scales", TensorArg(scales)},
                 {"index", TensorArg(index)},   {"group", IntArg({2 * table[1] / groups, 0})},
                 {"low_first", BoolArg(false)}, {"dtype", TextArg(ShortName(dtype))}};
  if (!IsAbsent(values_.value(call.args[2]))) {  // (code - zero) scale = code scale - zero scale
    SPIRLOOM_TRY_ASSIGN(const uint32_t zeros, values_.TensorOf(call.args[2]));
    std::array factors{zeros, scales};
    for (uint32_t& factor : factors) {
      if (graph_.dtype(factor) == dtype) continue;
      SPIRLOOM_TRY_ASSIGN(
          factor, Compute(call, "aten._to_copy", dtype, shape,
                          {{"x", TensorArg(factor)}, {"dtype", TextArg(ShortName(dtype))}}));
    }
    SPIRLOOM_TRY_ASSIGN(const uint32_t product,
                        Compute(call, "aten.mul.Tensor", dtype, shape,
                                {{"a", TensorArg(factors[0])}, {"b", TensorArg(factors[1])}}));
    SPIRLOOM_TRY_ASSIGN(const uint32_t offsets,
                        Compute(call, "aten.neg", dtype, shape, {{"x", TensorArg(product)}}));
    args["offsets"] = TensorArg(offsets);
  }
  const uint32_t y = values_.Declare(ResultOf(call));
  SPIRLOOM_TRY(binder_.Add(call, "spirloom.embedding_w4", std::move(args), {y}));
  return values_.Define(ResultOf(call), y);
}

// choose_qparams_per_token_asymmetric(x, int8): scale and zero point of each row of the last dim.
Status CallHandlers::ChooseQParamsPerToken(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 1));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const std::vector<uint32_t> results = binder_.Results(call);
  const size_t rank = graph_.shape(x).size();
  if (rank == 0 || results.size() != 2 || values_.tensor(results[0]) == nullptr ||
      values_.tensor(results[1]) == nullptr) {
    return InvalidFile("{}: expected a tensor of rank 1 or more, and two results.",
                       Quote(call.name));
  }
  std::vector<SizedInt> block(rank - 1, SizedInt{1, 0});
  block.push_back(values_.ShapeOf(x, rank - 1)[0]);
  const uint32_t scale = graph_.AddTensor("", DType::kF32, values_.tensor(results[0])->shape);
  const uint32_t zero = values_.Declare(results[1]);
  NamedArgs args{{"x", TensorArg(x)},
                 {"quant_min", IntArg({-128, 0})},
                 {"quant_max", IntArg({127, 0})},
                 {"block_size", IntsArg(block)},
                 {"keepdim", BoolArg(true)},
                 {"zero_dtype", TextArg(ShortName(graph_.dtype(zero)))}};
  SPIRLOOM_TRY(binder_.Add(call, "spirloom.choose_qparams", std::move(args), {scale, zero}));
  SPIRLOOM_TRY(values_.Define(results[0], scale));
  return values_.Define(results[1], zero);
}

}  // namespace spirloom::delegate
