// Calls on 8-bit numbers that several nodes of ours compute.
#include <utility>

#include "integrations/executorch/lower/structure.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {

using Given = std::map<std::string, schema::ArgT>;

// q8ta_pixel_shuffle(x, x_scale, x_zero, 1 / y_scale, y_zero, factor): in another scale, then
// moved.
Status Structure::PixelShuffle(const Call& call) {
  SPIRLOOM_TRY(Need(call, 6));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* scale = std::get_if<double>(&values_.value(call.args[1]));
  const auto* inverse = std::get_if<double>(&values_.value(call.args[3]));
  if (scale == nullptr || inverse == nullptr || *inverse == 0) {
    const uint32_t id = call.args[scale == nullptr ? 1 : 3];
    return InvalidFile({DescribeValue(id), " is no scale: it must be a float that is not 0."});
  }
  SPIRLOOM_TRY_ASSIGN(const SymValue x_zero, values_.SymOf(call.args[2]));
  SPIRLOOM_TRY_ASSIGN(const SymValue y_zero, values_.SymOf(call.args[4]));
  SPIRLOOM_TRY_ASSIGN(const SymValue factor, values_.SymOf(call.args[5]));
  if (values_.tensor(ResultOf(call)) == nullptr) {
    return InvalidFile({DescribeValue(ResultOf(call)), ", a result, is no tensor."});
  }
  const uint32_t rescaled = graph_.AddTensor("", graph_.dtype(x), graph_.shape(x));
  Given numbers;
  numbers["a"] = TensorArg(x);
  numbers["a_scale"] = FloatArg(*scale);
  numbers["a_zero"] = IntArg({x_zero.greatest, 0});
  numbers["y_scale"] = FloatArg(1.0 / *inverse);
  numbers["y_zero"] = IntArg({y_zero.greatest, 0});
  SPIRLOOM_TRY(binder_.Add(call, "spirloom.rescale_i8", std::move(numbers), {rescaled}));
  const uint32_t y = values_.Declare(ResultOf(call));
  Given moved{{"x", TensorArg(rescaled)}, {"upscale_factor", IntArg({factor.greatest, 0})}};
  SPIRLOOM_TRY(binder_.Add(call, "aten.pixel_shuffle", std::move(moved), {y}));
  return values_.Define(ResultOf(call), y);
}

}  // namespace spirloom::delegate
