#include "integrations/executorch/lower/call_handlers.h"

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

using NamedArgs = std::map<std::string, schema::ArgT>;

}  // namespace

Status CallHandlers::Lower(const Call& call) {
  struct Row {
    std::string_view name;
    Handler rule;
  };
  static constexpr std::array kHandlers{
      Row{"et_vk.prepack", &CallHandlers::ForwardFirstArg},
      Row{"aten.clone", &CallHandlers::ForwardFirstArg},
      Row{"aten.alias_copy", &CallHandlers::ForwardFirstArg},
      Row{"dim_order_ops._clone_dim_order", &CallHandlers::ForwardFirstArg},
      Row{"aten.copy", &CallHandlers::Copy},
      Row{"aten._to_copy", &CallHandlers::ForwardFirstArg},
      Row{"dim_order_ops._to_dim_order_copy", &CallHandlers::ForwardFirstArg},
      Row{"sym_size.int", &CallHandlers::SymSize},
      Row{"et_vk.select_as_symint", &CallHandlers::SelectSymInt},
      Row{"add", &CallHandlers::Add},
      Row{"sub", &CallHandlers::Sub},
      Row{"mul", &CallHandlers::Mul},
      Row{"floordiv", &CallHandlers::FloorDiv},
      Row{"lt", &CallHandlers::Ignore},
      Row{"gt", &CallHandlers::Ignore},
      Row{"le", &CallHandlers::Ignore},
      Row{"ge", &CallHandlers::Ignore},
      Row{"eq", &CallHandlers::Ignore},
      Row{"_assert_scalar", &CallHandlers::Ignore},
      Row{"sym_constrain_range_for_size", &CallHandlers::Ignore},
      Row{"aten.split_with_sizes_copy", &CallHandlers::Split},
      Row{"aten.index.Tensor", &CallHandlers::Index},
      Row{"et_vk.conv_with_clamp", &CallHandlers::ClampedConvolution},
      Row{"et_vk.q8ta_pixel_shuffle", &CallHandlers::PixelShuffle},
      Row{"et_vk.linear_qcs4w", &CallHandlers::LinearPacked4},
      Row{"et_vk.linear_q8ta_q8csw", &CallHandlers::LinearToFloats},
      Row{"quantized_decomposed.embedding_4bit.dtype", &CallHandlers::Embedding4},
      Row{"quantized_decomposed.choose_qparams_per_token_asymmetric",
          &CallHandlers::ChooseQParamsPerToken},
      Row{"et_vk.apply_rotary_emb_hf", &CallHandlers::RotaryHf},
      Row{"et_vk.apply_rotary_emb_interleaved", &CallHandlers::RotaryInterleaved},
      Row{"aten.arange.start_step", &CallHandlers::Arange},
      Row{"aten.slice_copy.Tensor", &CallHandlers::Slice},
      Row{"aten.select_copy.int", &CallHandlers::Select},
      Row{"aten.clamp", &CallHandlers::Clamp},
      Row{"et_vk.grid_priors", &CallHandlers::GridPriors},
      Row{"aten.eq.Scalar", &CallHandlers::Compare},
      Row{"aten.ne.Scalar", &CallHandlers::Compare},
      Row{"aten.lt.Scalar", &CallHandlers::Compare},
      Row{"aten.le.Scalar", &CallHandlers::Compare},
      Row{"aten.gt.Scalar", &CallHandlers::Compare},
      Row{"aten.ge.Scalar", &CallHandlers::Compare},
      Row{"aten._native_batch_norm_legit_no_training", &CallHandlers::BatchNorm},
      Row{"aten.native_layer_norm", &CallHandlers::LayerNorm},
      Row{"aten.native_group_norm", &CallHandlers::GroupNorm},
  };
  const auto row = std::ranges::find(kHandlers, std::string_view(call.name), &Row::name);
  return row == kHandlers.end() ? binder_.Bind(call) : (this->*row->rule)(call);
}

Status CallHandlers::RequireArgs(const Call& call, size_t args) const {
  if (ArgsOf(call).size() >= args) return Status();
  return InvalidFile("{} has {} arguments; expected {}.", Quote(call.name), ArgsOf(call).size(),
                     args);
}

Result<uint32_t> CallHandlers::Compute(const Call& call, std::string_view op, DType dtype,
                                       const Shape& shape, NamedArgs named_args) {
  const uint32_t result = graph_.AddTensor("", dtype, shape);
  SPIRLOOM_TRY(binder_.Add(call, op, std::move(named_args), {result}));
  return result;
}

Status CallHandlers::ForwardFirstArg(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 1));
  SPIRLOOM_TRY_ASSIGN(const uint32_t source, values_.TensorOf(call.args[0]));
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (result == nullptr) return InvalidFile("{} is not a tensor.", DescribeValue(ResultOf(call)));
  if (DeviceType(result->type) == graph_.dtype(source) && result->shape != graph_.shape(source)) {
    return InvalidFile("{}, a copy, has shape {}; expected {}.", DescribeValue(ResultOf(call)),
                       ToString(result->shape), ToString(graph_.shape(source)));
  }
  return DefineAs(call, ResultOf(call), source);
}

Status CallHandlers::DefineAs(const Call& call, uint32_t id, uint32_t tensor) {
  const DType dtype = DeviceType(values_.tensor(id)->type);
  if (dtype == graph_.dtype(tensor)) return values_.Define(id, tensor);
  const uint32_t cast = values_.Declare(id);
  NamedArgs named_args;
  named_args["x"] = TensorArg(tensor);
  named_args["dtype"] = TextArg(ShortName(dtype));
  SPIRLOOM_TRY(binder_.Add(call, "aten._to_copy", std::move(named_args), {cast}));
  return values_.Define(id, cast);
}

// copy(x, source): `source`, broadcast to the shape of x.
Status CallHandlers::Copy(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 2));
  SPIRLOOM_TRY_ASSIGN(uint32_t source, values_.TensorOf(call.args[1]));
  const TensorValue* result = values_.tensor(ResultOf(call));
  if (result == nullptr) return InvalidFile("{} is not a tensor.", DescribeValue(ResultOf(call)));
  if (const Shape shape = result->shape; shape != graph_.shape(source)) {
    SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
    NamedArgs named_args;
    named_args["x"] = TensorArg(source);
    named_args["size"] = IntsArg(values_.ShapeOf(x, /*first=*/0));
    SPIRLOOM_TRY_ASSIGN(
        source, Compute(call, "aten.expand", graph_.dtype(source), shape, std::move(named_args)));
  }
  return DefineAs(call, ResultOf(call), source);
}

Status CallHandlers::Ignore(const Call&) { return Status(); }

Status CallHandlers::SymSize(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 2));
  SPIRLOOM_TRY_ASSIGN(const SymValue dim, values_.SymOf(call.args[1]));
  SPIRLOOM_TRY_ASSIGN(SymValue size, values_.SizeSym(call.args[0], dim.upper_bound));
  return values_.DefineSym(ResultOf(call), std::move(size));
}

Status CallHandlers::SelectSymInt(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 3));
  SPIRLOOM_TRY_ASSIGN(const SymValue dim, values_.SymOf(call.args[1]));
  SPIRLOOM_TRY_ASSIGN(const SymValue index, values_.SymOf(call.args[2]));
  SPIRLOOM_TRY_ASSIGN(SymValue element, values_.ElementSym(call.args[0], dim.upper_bound,
                                                           index.upper_bound, ResultOf(call)));
  return values_.DefineSym(ResultOf(call), std::move(element));
}

Status CallHandlers::Combine(const Call& call, SymKind kind) {
  SPIRLOOM_TRY(RequireArgs(call, 2));
  SPIRLOOM_TRY_ASSIGN(const SymValue left, values_.SymOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const SymValue right, values_.SymOf(call.args[1]));
  return values_.DefineSym(ResultOf(call), values_.CombineSyms(kind, left, right));
}

// split_with_sizes_copy(x, sizes, dim): one slice per size.
Status CallHandlers::Split(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 2));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* sizes = std::get_if<std::vector<int64_t>>(&values_.value(call.args[1]));
  const std::vector<uint32_t> results = binder_.Results(call);
  if (sizes == nullptr || sizes->size() != results.size()) {
    return Error(StatusCode::kUnsupported, "The sizes of a split are not {} constant ints.",
                 results.size());
  }
  int64_t dim = 0;
  if (ArgsOf(call).size() > 2) {
    SPIRLOOM_TRY_ASSIGN(const SymValue split_dim, values_.SymOf(call.args[2]));
    dim = split_dim.upper_bound;
  }
  int64_t start = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    int64_t end = 0;
    if (values_.tensor(results[i]) == nullptr || (*sizes)[i] < 0 ||
        __builtin_add_overflow(start, (*sizes)[i], &end)) {
      return InvalidFile("Result {} of a split is not a tensor, or its size ({}) is not a size.", i,
                         (*sizes)[i]);
    }
    const uint32_t part = values_.Declare(results[i]);
    NamedArgs named_args;
    named_args["x"] = TensorArg(x);
    named_args["dim"] = IntArg({dim, 0});
    named_args["start"] = IntArg({start, 0});
    named_args["end"] = IntArg({end, 0});
    SPIRLOOM_TRY(binder_.Add(call, "aten.slice.Tensor", std::move(named_args), {part}));
    SPIRLOOM_TRY(values_.Define(results[i], part));
    start = end;
  }
  return Status();
}

// index.Tensor(x, [none, …, indices]): one index tensor. Its position in the list is the dim.
Status CallHandlers::Index(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 2));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* list = std::get_if<ValueList>(&values_.value(call.args[1]));
  std::vector<size_t> dims;
  for (size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
    if (values_.tensor(list->items[i]) != nullptr) dims.push_back(i);
  }
  if (dims.size() != 1) {
    return Error(StatusCode::kUnsupported,
                 "The call has {} index tensors; exactly one is supported.", dims.size());
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t indices, values_.TensorOf(list->items[dims[0]]));
  if (values_.tensor(ResultOf(call)) == nullptr) {
    return InvalidFile("{} is not a tensor.", DescribeValue(ResultOf(call)));
  }
  const uint32_t result = values_.Declare(ResultOf(call));
  NamedArgs named_args;
  named_args["x"] = TensorArg(x);
  named_args["index0"] = TensorArg(indices);
  named_args["dim"] = IntArg({static_cast<int64_t>(dims[0]), 0});
  SPIRLOOM_TRY(binder_.Add(call, "spirloom.index_nd", std::move(named_args), {result}));
  return values_.Define(ResultOf(call), result);
}

// If no op fuses the clamp, it becomes a separate node after the convolution.
Status CallHandlers::ClampedConvolution(const Call& call) {
  if (binder_.IsSupported(call)) return binder_.Bind(call);
  constexpr size_t kConvolutionArgs = 9;
  SPIRLOOM_TRY(RequireArgs(call, kConvolutionArgs + 2));
  Call convolution{call.node_id, "aten.convolution", call.args};
  convolution.args.erase(convolution.args.begin() + kConvolutionArgs, convolution.args.end() - 1);
  SPIRLOOM_TRY(binder_.Bind(convolution));
  SPIRLOOM_TRY_ASSIGN(const uint32_t unbounded, values_.TensorOf(ResultOf(call)));
  const uint32_t result = values_.Declare(ResultOf(call));
  NamedArgs named_args;
  named_args["x"] = TensorArg(unbounded);
  for (const auto& [name, index] :
       {std::pair("min", kConvolutionArgs), std::pair("max", kConvolutionArgs + 1)}) {
    const Value& bound = values_.value(call.args[index]);
    if (const auto* real = std::get_if<double>(&bound)) {
      named_args[name] = FloatArg(std::clamp(*real, -HUGE_VAL, HUGE_VAL));
    } else if (const auto* integer = std::get_if<int64_t>(&bound)) {
      named_args[name] = FloatArg(static_cast<double>(*integer));
    } else if (!std::holds_alternative<std::monostate>(bound)) {
      return InvalidFile("{} is not a float or an int.", DescribeValue(call.args[index]));
    }
  }
  SPIRLOOM_TRY(binder_.Add(call, "aten.clamp", std::move(named_args), {result}));
  values_.Replace(ResultOf(call), result);
  return Status();
}

// grid_priors(x, stride, offset): the x and y coordinates of each point of x's last two dims, a
// constant.
Status CallHandlers::GridPriors(const Call& call) {
  SPIRLOOM_TRY(RequireArgs(call, 3));
  const TensorValue* x = values_.tensor(call.args[0]);
  const TensorValue* result = values_.tensor(ResultOf(call));
  const auto* stride = std::get_if<int64_t>(&values_.value(call.args[1]));
  const auto* offset = std::get_if<double>(&values_.value(call.args[2]));
  if (x == nullptr || x->shape.size() < 2 || result == nullptr || stride == nullptr ||
      offset == nullptr || DeviceType(result->type) != DType::kF32) {
    return InvalidFile("{}: expected a tensor of rank 2 or more, an int and a float.",
                       Quote(call.name));
  }
  const int64_t height = x->shape[x->shape.size() - 2], width = x->shape.back();
  if (result->shape != Shape{height * width, 2}) {
    return InvalidFile("The result of {} has shape {}; expected {}.", Quote(call.name),
                       ToString(result->shape), ToString(Shape{height * width, 2}));
  }
  const auto elements = static_cast<size_t>(height) * static_cast<size_t>(width) * 2;
  SPIRLOOM_TRY_ASSIGN(const std::span bytes, graph_.Allocate(elements * sizeof(float)));
  for (size_t i = 0; i < elements; ++i) {
    const size_t point = i / 2, columns = static_cast<size_t>(width);
    const size_t coordinate = i % 2 == 0 ? point % columns : point / columns;
    const double value = (static_cast<double>(coordinate) + *offset) * static_cast<double>(*stride);
    SPIRLOOM_TRY(StoreScalar(value, DType::kF32, bytes.subspan(i * sizeof(float), sizeof(float))));
  }
  values_.RequireFixedSizes(call.name);
  const uint32_t grid = graph_.AddConstant("", DType::kF32, result->shape, bytes);
  return values_.Define(ResultOf(call), grid);
}

}  // namespace spirloom::delegate
