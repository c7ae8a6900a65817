#include "integrations/executorch/backend/delegate_values.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cstring>
#include <optional>
#include <string>

#include "integrations/executorch/lower/narrow.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using ::executorch::aten::ScalarType;
using ::executorch::aten::SizesType;
using ::executorch::aten::Tensor;

std::optional<ElementType> TypeOf(ScalarType type) {
  switch (type) {
    case ScalarType::Bool:
      return ElementType::kBool;
    case ScalarType::Byte:
      return ElementType::kU8;
    case ScalarType::Char:
      return ElementType::kI8;
    case ScalarType::Int:
      return ElementType::kI32;
    case ScalarType::Long:
      return ElementType::kI64;
    case ScalarType::Half:
      return ElementType::kF16;
    case ScalarType::Float:
      return ElementType::kF32;
    case ScalarType::Double:
      return ElementType::kF64;
    default:
      return std::nullopt;
  }
}

// Whether the tensor has 64-bit elements, which must be converted. Fails unless the value is a
// dense tensor whose dtype corresponds to `spec.type`.
Result<bool> Is64Bit(const EValue& value, const IoSpec& spec) {
  if (!value.isTensor()) {
    return Error(StatusCode::kInvalidArgument,
                 {"The value is not a tensor; the delegate expects a tensor."});
  }
  const Tensor& tensor = value.toTensor();
  const auto type = TypeOf(tensor.scalar_type());
  if (!type || DeviceType(*type) != DeviceType(spec.type)) {
    return Error(StatusCode::kInvalidArgument,
                 {"The tensor has dtype ",
                  type ? std::string(Name(*type))
                       : Concat({"number ", static_cast<int>(tensor.scalar_type())}),
                  "; the delegate expects ", Name(spec.type), "."});
  }
  const auto order = tensor.dim_order();
  if (!::executorch::runtime::is_contiguous_dim_order(order.data(), order.size())) {
    return Error(
        StatusCode::kUnsupported,
        {"The tensor has a non-default dim order; only contiguous tensors are supported."});
  }
  return ElementSize(*type) != spirloom::ElementSize(DeviceType(*type));
}

Shape SizesOf(const Tensor& tensor) {
  const auto sizes = tensor.sizes();
  return {sizes.begin(), sizes.end()};
}

}  // namespace

Result<Shape> ShapeOf(const EValue& value, const IoSpec& spec) {
  if (!spec.is_tensor) return Shape();
  SPIRLOOM_TRY_ASSIGN([[maybe_unused]] const bool is_64_bit, Is64Bit(value, spec));
  return SizesOf(value.toTensor());
}

Result<int64_t> IntAt(const EValue& value, int64_t i) {
  if (value.isInt()) return value.toInt();
  if (value.isBool()) return int64_t{value.toBool()};
  if (!value.isTensor()) {
    return Error(StatusCode::kInvalidArgument,
                 {"The value is not an int, a bool or a tensor; the delegate expects an int."});
  }
  const Tensor& tensor = value.toTensor();
  const auto count = static_cast<int64_t>(tensor.numel());
  const int64_t index = i < 0 ? i + count : i;
  if (index < 0 || index >= count) {
    return Error(StatusCode::kInvalidArgument,
                 {"Element index (", i, ") is out of range of a tensor of ", count, " elements."});
  }
  if (tensor.scalar_type() == ScalarType::Long) return tensor.const_data_ptr<int64_t>()[index];
  if (tensor.scalar_type() == ScalarType::Int) return tensor.const_data_ptr<int32_t>()[index];
  return Error(StatusCode::kInvalidArgument,
               {"The tensor has a non-integer dtype; the delegate reads an int from it."});
}

Result<std::span<const std::byte>> InputBytes(const EValue& value, const IoSpec& spec,
                                              std::vector<std::byte>& scratch) {
  SPIRLOOM_TRY_ASSIGN(const bool is_64_bit, Is64Bit(value, spec));
  const Tensor& tensor = value.toTensor();
  const std::span bytes(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes());
  if (!is_64_bit) return bytes;
  scratch.resize(bytes.size() / 2);
  SPIRLOOM_TRY(Narrow(*TypeOf(tensor.scalar_type()), bytes, scratch));
  return std::span<const std::byte>(scratch);
}

Result<std::span<std::byte>> OutputBytes(EValue& value, const IoSpec& spec, const Shape& shape,
                                         std::vector<std::byte>& scratch) {
  SPIRLOOM_TRY_ASSIGN(const bool is_64_bit, Is64Bit(value, spec));
  Tensor& tensor = value.toTensor();
  if (SizesOf(tensor) != shape) {
    const std::vector<SizesType> sizes(shape.begin(), shape.end());
    const auto error = ::executorch::runtime::resize_tensor(tensor, {sizes.data(), sizes.size()});
    if (error != ::executorch::runtime::Error::Ok) {
      return Error(StatusCode::kInvalidArgument,
                   {"The output has shape ", ToString(shape),
                    ", which exceeds its tensor of shape ", ToString(SizesOf(tensor)), "."});
    }
  }
  const std::span bytes(static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes());
  if (!is_64_bit) return bytes;
  scratch.resize(bytes.size() / 2);
  return std::span<std::byte>(scratch);
}

void WidenOutput(EValue& value, std::span<const std::byte> scratch) {
  if (scratch.empty()) return;
  Tensor& tensor = value.toTensor();
  const std::span bytes(static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes());
  Widen(*TypeOf(tensor.scalar_type()), scratch, bytes);
}

Status SetInt(EValue& target, int64_t value) {
  if (!target.isTensor()) {
    target = EValue(value);
    return Status();
  }
  Tensor& tensor = target.toTensor();
  if (tensor.numel() == 1 && tensor.scalar_type() == ScalarType::Long) {
    *tensor.mutable_data_ptr<int64_t>() = value;
  } else if (tensor.numel() == 1 && tensor.scalar_type() == ScalarType::Int) {
    *tensor.mutable_data_ptr<int32_t>() = static_cast<int32_t>(value);
  } else {
    return Error(StatusCode::kInvalidArgument,
                 {"The output is an int; its tensor is not a single int32 or int64 element."});
  }
  return Status();
}

}  // namespace spirloom::delegate
