#include "integrations/torch/int64.h"

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/native/Resize.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "integrations/torch/conversions.h"
#include "integrations/torch/device.h"
#include "integrations/torch/device_copy.h"
#include "integrations/torch/runtime_call.h"

namespace spirloom::pytorch {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

// PyTorch's name, and the runtime's operator on int64 values; null for compositions of others.
struct Int64Operator {
  std::string_view aten;
  const char* op;
  bool takes_all;  // also of no dimension, which is all of them
};

constexpr Int64Operator kInt64Operators[] = {{"aten::sum", "spirloom.int64_sum", true},
                                             {"aten::amax", "spirloom.int64_amax", true},
                                             {"aten::amin", "spirloom.int64_amin", true},
                                             {"aten::max", "spirloom.int64_amax", true},
                                             {"aten::min", "spirloom.int64_amin", true},
                                             {"aten::cumsum", "spirloom.int64_cumsum", false},
                                             {"aten::any", nullptr, true},
                                             {"aten::all", nullptr, true},
                                             {"aten::neg", nullptr, false},
                                             {"aten::abs", nullptr, false},
                                             {"aten::masked_fill", nullptr, false},
                                             {"aten::clamp", nullptr, false},
                                             {"aten::clamp_min", nullptr, false},
                                             {"aten::clamp_max", nullptr, false}};

// Contiguous int64 with at least one dimension.
MaybeTensor Int64Of(const at::Tensor& tensor) {
  MaybeTensor dense = tensor;
  if (!tensor.is_contiguous()) dense = MakeContiguous(tensor);
  if (dense) dense = CastTo(*dense, c10::ScalarType::Long);
  return dense && dense->dim() == 0 ? dense->view({1}) : dense;
}

MaybeTensor Reduce(const char* op, const at::Tensor& x, int64_t dim) {
  const auto results =
      RuntimeCall(op).Bits(x, SPIRLOOM_I32, PairSizes(x.sizes())).Int(dim).RunRaw();
  if (!results) return std::nullopt;
  const spirloom_device_tensor& y = results->front();
  return WrapResult(y, c10::ScalarType::Long, at::IntArrayRef(y.sizes, y.rank - 1));
}

// Over dimensions in descending order; `dims` is empty for all.
MaybeTensor ReduceDimensions(const char* op, const at::Tensor& tensor, std::vector<int64_t> dims,
                             bool keepdim) {
  MaybeTensor x = Int64Of(tensor);
  if (!x) return std::nullopt;
  const int64_t rank = std::max<int64_t>(tensor.dim(), 1);
  if (dims.empty()) {
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  }
  for (int64_t& d : dims) d = at::maybe_wrap_dim(d, rank);
  std::ranges::sort(dims, std::greater<>());
  std::vector<int64_t> kept = x->sizes().vec();
  for (const int64_t d : dims) {
    x = Reduce(op, *x, d);
    if (!x) return std::nullopt;
    kept[static_cast<size_t>(d)] = 1;
  }
  return keepdim && tensor.dim() > 0 ? x->view(kept) : x;
}

// The dimensions of a call: absent, a number or a list.
std::vector<int64_t> DimsOf(const c10::IValue& value) {
  if (value.isInt()) return {value.toInt()};
  return value.isIntList() ? value.toIntVector() : std::vector<int64_t>();
}

// Limits are absent, or numbers.
MaybeTensor Clamp(at::Tensor x, const c10::IValue& min, const c10::IValue& max) {
  const auto limit = [&](const c10::IValue& value) {
    return at::full({}, value.toScalar(), x.options());
  };
  const auto is_integer = [](const c10::IValue& value) {
    return value.isNone() ||
           (value.isScalar() && value.toScalar().isIntegral(/*includeBool=*/true));
  };
  if (!is_integer(min) || !is_integer(max)) return std::nullopt;
  if (!min.isNone()) x = at::maximum(x, limit(min));
  return max.isNone() ? x : at::minimum(x, limit(max));
}

MaybeTensor Compute(const Int64Operator& reduction, c10::ArrayRef<c10::IValue> values) {
  const at::Tensor& x = values[0].toTensor();
  const bool has_dims = values.size() > 1 && !values[1].isBool();
  const bool keepdim = values.size() > 2 && values[2].isBool() && values[2].toBool();
  const std::vector<int64_t> dims = has_dims ? DimsOf(values[1]) : std::vector<int64_t>();
  if (reduction.aten == "aten::clamp") return Clamp(x, values[1], values[2]);
  if (reduction.aten == "aten::clamp_min") return Clamp(x, values[1], {});
  if (reduction.aten == "aten::clamp_max") return Clamp(x, {}, values[1]);
  if (reduction.aten == "aten::masked_fill") {
    return at::where(values[1].toTensor(), values[2].toScalar(), x);
  }
  if (reduction.op == nullptr && !reduction.takes_all) {
    const at::Tensor negative = at::zeros({}, x.options()) - x;
    return reduction.aten == "aten::abs" ? at::maximum(x, negative) : negative;
  }
  if (reduction.op == nullptr) {
    const at::Tensor truth = x.ne(0);
    const bool is_any = reduction.aten == "aten::any";
    if (dims.empty()) return is_any ? truth.any() : truth.all();
    return is_any ? truth.any(dims, keepdim) : truth.all(dims, keepdim);
  }
  if (reduction.takes_all) return ReduceDimensions(reduction.op, x, dims, keepdim);
  MaybeTensor wide = Int64Of(x);
  if (!wide || dims.size() != 1) return std::nullopt;
  wide = Reduce(reduction.op, *wide, at::maybe_wrap_dim(dims[0], wide->dim()));
  return wide ? wide->view(x.sizes()) : wide;
}

// Whether arguments after the dimensions have their defaults: no dtype or that of the result.
bool HasDefaults(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> values) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (schema.arguments()[i].name() != "dtype" || values[i].isNone()) continue;
    if (values[i].toScalarType() != c10::ScalarType::Long) return false;
  }
  return true;
}

}  // namespace

bool ComputeInt64(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  const bool is_in_place = schema.name().back() == '_';
  const std::string_view name =
      std::string_view(schema.name()).substr(0, schema.name().size() - (is_in_place ? 1 : 0));
  const auto* const found = std::ranges::find(kInt64Operators, name, &Int64Operator::aten);
  if (found == std::end(kInt64Operators) || schema.returns().size() != 1) return false;
  const size_t count = schema.arguments().size();
  const c10::ArrayRef<c10::IValue> values(stack.data() + stack.size() - count, count);
  const bool has_out = schema.arguments().back().is_out();
  const at::Tensor& x = values[0].toTensor();
  const bool is_sum = found->aten == "aten::sum" || found->aten == "aten::cumsum";
  const bool is_computed = x.device().type() == kDeviceType && x.numel() > 0 &&
                           (x.scalar_type() == c10::ScalarType::Long ||
                            (is_sum && c10::isIntegralType(x.scalar_type(), /*includeBool=*/true)));
  // max.other and min.other have another tensor.
  const bool has_other = count > 1 && values[1].isTensor() && !has_out && found->takes_all;
  if (!is_computed || has_other || !HasDefaults(schema, values)) return false;
  const at::AutoDispatchBelowADInplaceOrView guard;
  const MaybeTensor result = Compute(*found, values.slice(0, count - (has_out ? 1 : 0)));
  if (!result) return false;
  at::Tensor returned = *result;
  if (has_out) {
    returned = values.back().toTensor();
    if (returned.scalar_type() != result->scalar_type()) return false;
    at::native::resize_output(returned, result->sizes());
    returned.copy_(*result);
  }
  if (is_in_place) {
    returned = x;
    if (returned.sizes() != result->sizes() || returned.scalar_type() != result->scalar_type()) {
      return false;
    }
    returned.copy_(*result);
  }
  torch::jit::drop(stack, count);
  stack.emplace_back(std::move(returned));
  return true;
}

}  // namespace spirloom::pytorch
