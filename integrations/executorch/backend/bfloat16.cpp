#include "integrations/executorch/backend/bfloat16.h"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using ::executorch::aten::ScalarType;
using ::executorch::aten::SizesType;
using ::executorch::aten::Tensor;

// Rounds to the nearest bfloat16 value, ties to even.
uint16_t Rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

bool IsBfloat16(const EValue& value) {
  return value.isTensor() && value.toTensor().scalar_type() == ScalarType::BFloat16;
}

EValue& F32Tensor::From(const EValue& source) {
  const Tensor& tensor = source.toTensor();
  Reset(tensor);
  const auto* from = static_cast<const std::byte*>(tensor.const_data_ptr());
  for (size_t i = 0; i < data_.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, from + i * sizeof(bits), sizeof(bits));
    data_[i] = std::bit_cast<float>(uint32_t{bits} << 16);
  }
  return value_;
}

Result<EValue*> F32Tensor::For(EValue& target, const Shape& shape) {
  Tensor& tensor = target.toTensor();
  const std::vector<SizesType> sizes(shape.begin(), shape.end());
  const auto error = ::executorch::runtime::resize_tensor(tensor, {sizes.data(), sizes.size()});
  if (error != ::executorch::runtime::Error::Ok) {
    return Error(StatusCode::kInvalidArgument,
                 {"The output has shape ", ToString(shape),
                  ", which exceeds its bfloat16 tensor of ", tensor.numel(), " elements."});
  }
  Reset(tensor);
  return &value_;
}

void F32Tensor::StoreTo(EValue& target) const {
  auto* to = static_cast<std::byte*>(target.toTensor().mutable_data_ptr());
  for (size_t i = 0; i < data_.size(); ++i) {
    const uint16_t bits = Rounded(data_[i]);
    std::memcpy(to + i * sizeof(bits), &bits, sizeof(bits));
  }
}

void F32Tensor::Reset(const Tensor& like) {
  sizes_.assign(like.sizes().begin(), like.sizes().end());
  dim_order_.assign(like.dim_order().begin(), like.dim_order().end());
  strides_.assign(like.strides().begin(), like.strides().end());
  data_.resize(static_cast<size_t>(like.numel()));
  impl_.emplace(ScalarType::Float, like.dim(), sizes_.data(), data_.data(), dim_order_.data(),
                strides_.data());
  value_ = EValue(Tensor(&*impl_));
}

}  // namespace spirloom::delegate
