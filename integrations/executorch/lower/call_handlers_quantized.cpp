// Operators on int8 tensors that several nodes compute.
#include <utility>

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
    return InvalidFile({DescribeValue(id), " is not a scale; expected a nonzero float."});
  }
  SPIRLOOM_TRY_ASSIGN(const SymValue x_zero, values_.SymOf(call.args[2]));
  SPIRLOOM_TRY_ASSIGN(const SymValue y_zero, values_.SymOf(call.args[4]));
  SPIRLOOM_TRY_ASSIGN(const SymValue factor, values_.SymOf(call.args[5]));
  if (values_.tensor(ResultOf(call)) == nullptr) {
    return InvalidFile({DescribeValue(ResultOf(call)), ", a result, is not a tensor."});
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

}  // namespace spirloom::delegate
