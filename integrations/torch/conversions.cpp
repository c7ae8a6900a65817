#include "integrations/torch/conversions.h"

#include <ATen/ATen.h>

#include "integrations/torch/device_copy.h"
#include "integrations/torch/runtime_call.h"

namespace spirloom::pytorch {
namespace {

// The result of a conversion, with the sizes of the tensor.
std::optional<at::Tensor> Convert(RuntimeCall& call, const at::Tensor& tensor,
                                  c10::ScalarType type) {
  const auto results = call.RunRaw();
  if (!results) return std::nullopt;
  return WrapResult(results->front(), type, tensor.sizes());
}

std::optional<at::Tensor> ToInt64(const at::Tensor& tensor) {
  if (tensor.scalar_type() == c10::ScalarType::BFloat16) {
    const std::optional<at::Tensor> wide = CastTo(tensor, c10::ScalarType::Float);
    return wide ? ToInt64(*wide) : std::nullopt;
  }
  return Convert(RuntimeCall("spirloom.int64_widen")
                     .Bits(tensor, *DTypeOf(tensor.scalar_type()), {tensor.numel()}),
                 tensor, at::kLong);
}

std::optional<at::Tensor> FromInt64(const at::Tensor& tensor, c10::ScalarType type) {
  if (type == c10::ScalarType::BFloat16) {
    const std::optional<at::Tensor> wide = FromInt64(tensor, c10::ScalarType::Float);
    return wide ? CastTo(*wide, type) : std::nullopt;
  }
  return Convert(RuntimeCall("spirloom.int64_to")
                     .Bits(tensor, SPIRLOOM_I32, {tensor.numel(), 2})
                     .String(DTypeName(type)),
                 tensor, type);
}

}  // namespace

std::vector<int64_t> PairSizes(at::IntArrayRef sizes) {
  std::vector<int64_t> pairs = sizes.vec();
  pairs.push_back(2);
  return pairs;
}

std::optional<at::Tensor> CastTo(const at::Tensor& tensor, c10::ScalarType type) {
  const c10::ScalarType from = tensor.scalar_type();
  if (from == type) return tensor;
  if (tensor.numel() == 0) return std::nullopt;
  if (type == at::kLong) return DTypeName(from) == nullptr ? std::nullopt : ToInt64(tensor);
  if (DTypeName(type) == nullptr) return std::nullopt;
  if (from == at::kLong) return FromInt64(tensor, type);
  if (DTypeName(from) == nullptr) return std::nullopt;
  return Convert(RuntimeCall("aten._to_copy")
                     .Bits(tensor, *DTypeOf(from), {tensor.numel()})
                     .String(DTypeName(type)),
                 tensor, type);
}

std::optional<at::Tensor> IndicesOf(const at::Tensor& tensor) {
  std::optional<at::Tensor> dense = tensor;
  if (!tensor.is_contiguous()) dense = MakeContiguous(tensor);
  if (!dense || tensor.scalar_type() == c10::ScalarType::Int) return dense;
  if (tensor.scalar_type() != at::kLong) return std::nullopt;
  if (tensor.numel() == 0) {
    return at::empty(tensor.sizes(), tensor.options().dtype(c10::ScalarType::Int));
  }
  return Convert(
      RuntimeCall("spirloom.int64_index").Bits(*dense, SPIRLOOM_I32, {tensor.numel(), 2}), tensor,
      c10::ScalarType::Int);
}

}  // namespace spirloom::pytorch
