// Normalizations of which a program also reads the mean and the reciprocal deviation: no kernel of
// ours gives those, for networks hardly ever ask.
#include <algorithm>
#include <numeric>
#include <utility>

#include "integrations/executorch/lower/structure.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using Given = std::map<std::string, schema::ArgT>;

}  // namespace

// native_layer_norm(x, normalized_shape, weight, bias, eps): of each row.
Status Structure::LayerNorm(const Call& call) {
  SPIRLOOM_TRY(binder_.Bind(call));
  if (!ReadsStatistics(call)) return Status();
  SPIRLOOM_TRY(Need(call, 5));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  const auto* sizes = std::get_if<std::vector<int64_t>>(&values_.value(call.args[1]));
  const auto* eps = std::get_if<double>(&values_.value(call.args[4]));
  if (sizes == nullptr || eps == nullptr) {
    return Error(StatusCode::kUnsupported, {"The sizes or the epsilon of a norm vary."});
  }
  std::vector<int64_t> dims(sizes->size());
  std::iota(dims.begin(), dims.end(), -static_cast<int64_t>(dims.size()));
  return DefineStatistics(call, x, dims, /*keepdim=*/true, *eps);
}

// native_group_norm(x, weight, bias, N, C, HxW, group, eps): of each group, which is a row of
// [N, group, …].
Status Structure::GroupNorm(const Call& call) {
  SPIRLOOM_TRY(binder_.Bind(call));
  if (!ReadsStatistics(call)) return Status();
  SPIRLOOM_TRY(Need(call, 8));
  SPIRLOOM_TRY_ASSIGN(const uint32_t x, values_.TensorOf(call.args[0]));
  SPIRLOOM_TRY_ASSIGN(const SymValue group, values_.SymOf(call.args[6]));
  const auto* eps = std::get_if<double>(&values_.value(call.args[7]));
  const Shape& shape = graph_.shape(x);
  if (eps == nullptr || shape.size() < 2 || group.greatest < 1 || shape[1] % group.greatest != 0) {
    return Error(StatusCode::kUnsupported, {"The groups or the epsilon of a norm vary."});
  }
  int64_t inner = shape[1] / group.greatest;
  for (size_t d = 2; d < shape.size(); ++d) inner *= shape[d];
  values_.Fix(call.name);
  const Shape rows{shape[0], group.greatest, inner};
  const uint32_t grouped = graph_.AddTensor("", graph_.dtype(x), rows);
  Given given;
  given["x"] = TensorArg(x);
  given["size"] = IntsArg(std::vector<SizedInt>{{rows[0], 0}, {rows[1], 0}, {rows[2], 0}});
  SPIRLOOM_TRY(binder_.Add(call, "aten.view", std::move(given), {grouped}));
  return DefineStatistics(call, grouped, {2}, /*keepdim=*/false, *eps);
}

// _native_batch_norm_legit_no_training: its statistics are given, those that it returns empty.
Status Structure::BatchNorm(const Call& call) {
  SPIRLOOM_TRY(binder_.Bind(call));
  if (!ReadsStatistics(call)) return Status();
  const std::vector<uint32_t> results = binder_.Results(call);
  for (const uint32_t id : {results[1], results[2]}) {
    const TensorValue* tensor = values_.tensor(id);
    if (tensor == nullptr || std::ranges::find(tensor->shape, 0) == tensor->shape.end()) {
      return InvalidFile({DescribeValue(id), " is no empty tensor."});
    }
    const uint32_t empty =
        graph_.AddConstant("", DeviceType(tensor->type), tensor->shape, std::vector<std::byte>());
    SPIRLOOM_TRY(values_.Define(id, empty));
  }
  return Status();
}

bool Structure::ReadsStatistics(const Call& call) const {
  const std::vector<uint32_t> results = binder_.Results(call);
  return results.size() == 3 && (values_.IsRead(results[1]) || values_.IsRead(results[2]));
}

// Results 1 and 2: the mean over dims, and 1 / sqrt(variance + eps).
Status Structure::DefineStatistics(const Call& call, uint32_t x, const std::vector<int64_t>& dims,
                                   bool keepdim, double eps) {
  const std::vector<uint32_t> results = binder_.Results(call);
  for (const uint32_t id : {results[1], results[2]}) {
    if (values_.tensor(id) == nullptr) return InvalidFile({DescribeValue(id), " is no tensor."});
  }
  const DType dtype = graph_.dtype(x);
  const Shape& shape = values_.tensor(results[1])->shape;
  std::vector<SizedInt> over;
  for (const int64_t dim : dims) over.push_back({dim, 0});
  const auto compute = [&](const char* op, Given given) -> Result<uint32_t> {
    const uint32_t result = graph_.AddTensor("", dtype, shape);
    SPIRLOOM_TRY(binder_.Add(call, op, std::move(given), {result}));
    return result;
  };
  const auto reduce = [&](const char* op, Given given) {
    given["x"] = TensorArg(x);
    given["dim"] = IntsArg(over);
    given["keepdim"] = BoolArg(keepdim);
    return compute(op, std::move(given));
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
