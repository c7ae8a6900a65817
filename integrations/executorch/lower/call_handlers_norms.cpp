// Normalizations whose mean and reciprocal standard deviation a program reads. Separate nodes
// compute these, because the normalization kernels do not return them.
#include <algorithm>
#include <numeric>
#include <utility>

#include "integrations/executorch/lower/call_handlers.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using NamedArgs = std::map<std::string, schema::ArgT>;

}  // namespace

// native_layer_norm(x, normalized_shape, weight, bias, eps): statistics of each row.
Status CallHandlers::LayerNorm(const Call& call) {
  SPIRLOOM_TRY(binder_.Bind(call));
  if (!ReadsStatistics(call)) return Status();
  SPIRLOOM_TRY(RequireArgs(call, 5));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* sizes = std::get_if<std::vector<int64_t>>(&values_.value(call.args[1]));
  const auto* eps = std::get_if<double>(&values_.value(call.args[4]));
  if (sizes == nullptr || eps == nullptr) {
    return Error(StatusCode::kUnsupported,
                 "'normalized_shape' or 'eps' of a layer norm is not constant.");
  }
  std::vector<int64_t> dims(sizes->size());
  std::iota(dims.begin(), dims.end(), -static_cast<int64_t>(dims.size()));
  return DefineStatistics(call, x, dims, /*keepdim=*/true, *eps);
}

// native_group_norm(x, weight, bias, N, C, HxW, group, eps): statistics of each row of x as
// [N, group, C / group * HxW].
Status CallHandlers::GroupNorm(const Call& call) {
  SPIRLOOM_TRY(binder_.Bind(call));
  if (!ReadsStatistics(call)) return Status();
  SPIRLOOM_TRY(RequireArgs(call, 8));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const SymValue group, values_.SymOf(call.args[6]));
  const auto* eps = std::get_if<double>(&values_.value(call.args[7]));
  const Shape& shape = graph_.shape(x);
  if (eps == nullptr || shape.size() < 2 || group.upper_bound < 1 ||
      shape[1] % group.upper_bound != 0) {
    return Error(StatusCode::kUnsupported,
                 "'group' or 'eps' of a group norm is not constant, or 'group' does not divide C.");
  }
  int64_t inner = shape[1] / group.upper_bound;
  for (size_t d = 2; d < shape.size(); ++d) inner *= shape[d];
  values_.RequireFixedSizes(call.name);
  const Shape rows{shape[0], group.upper_bound, inner};
  const uint32_t grouped = graph_.AddTensor("", graph_.dtype(x), rows);
  NamedArgs named_args;
  named_args["x"] = TensorArg(x);
  named_args["size"] = IntsArg(std::vector<SizedInt>{{rows[0], 0}, {rows[1], 0}, {rows[2], 0}});
  SPIRLOOM_TRY(binder_.Add(call, "aten.view", std::move(named_args), {grouped}));
  return DefineStatistics(call, grouped, {2}, /*keepdim=*/false, *eps);
}

// _native_batch_norm_legit_no_training: its statistics are inputs; the returned ones are empty.
Status CallHandlers::BatchNorm(const Call& call) {
  SPIRLOOM_TRY(binder_.Bind(call));
  if (!ReadsStatistics(call)) return Status();
  const std::vector<uint32_t> results = binder_.Results(call);
  for (const uint32_t id : {results[1], results[2]}) {
    const TensorValue* tensor = values_.tensor(id);
    if (tensor == nullptr || std::ranges::find(tensor->shape, 0) == tensor->shape.end()) {
      return InvalidFile("{} is not an empty tensor.", DescribeValue(id));
    }
    const uint32_t empty = graph_.AddConstant("", DeviceType(tensor->type), tensor->shape, {});
    SPIRLOOM_TRY(values_.Define(id, empty));
  }
  return Status();
}

bool CallHandlers::ReadsStatistics(const Call& call) const {
  const std::vector<uint32_t> results = binder_.Results(call);
  return results.size() == 3 && (values_.IsRead(results[1]) || values_.IsRead(results[2]));
}

// Results 1 and 2: the mean over dims, and 1 / sqrt(variance + eps).
Status CallHandlers::DefineStatistics(const Call& call, uint32_t x,
                                      const std::vector<int64_t>& dims, bool keepdim, double eps) {
  const std::vector<uint32_t> results = binder_.Results(call);
  for (const uint32_t id : {results[1], results[2]}) {
    if (values_.tensor(id) == nullptr) return InvalidFile("{} is not a tensor.", DescribeValue(id));
  }
  const DType dtype = graph_.dtype(x);
  const Shape& shape = values_.tensor(results[1])->shape;
  std::vector<SizedInt> over;
  for (const int64_t dim : dims) over.push_back({dim, 0});
  const auto compute = [&](const char* op, NamedArgs named_args) -> Result<uint32_t> {
    const uint32_t result = graph_.AddTensor("", dtype, shape);
    SPIRLOOM_TRY(binder_.Add(call, op, std::move(named_args), {result}));
    return result;
  };
  const auto reduce = [&](const char* op, NamedArgs named_args) {
    named_args["x"] = TensorArg(x);
    named_args["dim"] = IntsArg(over);
    named_args["keepdim"] = BoolArg(keepdim);
    return compute(op, std::move(named_args));
  };
  SPIRLOOM_TRY_ASSIGN(const uint32_t mean, reduce("aten.mean.dim", {}));
  SPIRLOOM_TRY_ASSIGN(const uint32_t variance,
                      reduce("aten.var.correction", {{"correction", FloatArg(0)}}));
  SPIRLOOM_TRY_ASSIGN(const uint32_t epsilon, values_.ScalarOf(eps, dtype));
  SPIRLOOM_TRY_ASSIGN(const uint32_t sum, compute("aten.add.Tensor", {{"a", TensorArg(variance)},
                                                                      {"b", TensorArg(epsilon)}}));
  SPIRLOOM_TRY_ASSIGN(const uint32_t rstd, compute("aten.rsqrt", {{"x", TensorArg(sum)}}));
  SPIRLOOM_TRY(DefineAs(call, results[1], mean));
  return DefineAs(call, results[2], rstd);
}

}  // namespace spirloom::delegate
