#include "integrations/executorch/backend/border.h"

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

// Whether the bytes must be converted, and a tensor that the border does not take.
Result<bool> IsWide(const EValue& value, const Border& border) {
  if (!value.isTensor()) {
    return Error(StatusCode::kInvalidArgument, {"A value is no tensor, as the delegate has it."});
  }
  const Tensor& tensor = value.toTensor();
  const auto type = TypeOf(tensor.scalar_type());
  if (!type || DeviceType(*type) != DeviceType(border.type)) {
    return Error(StatusCode::kInvalidArgument,
                 {"A tensor is of ",
                  type ? std::string(Name(*type))
                       : Concat({"type ", static_cast<int>(tensor.scalar_type())}),
                  "; the delegate has ", Name(border.type), "."});
  }
  const auto order = tensor.dim_order();
  if (!::executorch::runtime::is_contiguous_dim_order(order.data(), order.size())) {
    return Error(StatusCode::kUnsupported,
                 {"A tensor's dims lie in another order in memory than they are counted in."});
  }
  return ElementSize(*type) != spirloom::ElementSize(DeviceType(*type));
}

Shape SizesOf(const Tensor& tensor) {
  const auto sizes = tensor.sizes();
  return {sizes.begin(), sizes.end()};
}

}  // namespace

Result<Shape> ShapeOf(const EValue& value, const Border& border) {
  if (!border.is_tensor) return Shape();
  SPIRLOOM_TRY_ASSIGN([[maybe_unused]] const bool is_wide, IsWide(value, border));
  return SizesOf(value.toTensor());
}

Result<int64_t> NumberAt(const EValue& value, int64_t i) {
  if (value.isInt()) return value.toInt();
  if (value.isBool()) return int64_t{value.toBool()};
  if (!value.isTensor()) {
    return Error(StatusCode::kInvalidArgument, {"A value is no number, as the delegate has it."});
  }
  const Tensor& tensor = value.toTensor();
  const auto count = static_cast<int64_t>(tensor.numel());
  const int64_t at = i < 0 ? i + count : i;
  if (at < 0 || at >= count) {
    return Error(StatusCode::kInvalidArgument,
                 {"Element ", i, " of a tensor of ", count, " is read as a number."});
  }
  if (tensor.scalar_type() == ScalarType::Long) return tensor.const_data_ptr<int64_t>()[at];
  if (tensor.scalar_type() == ScalarType::Int) return tensor.const_data_ptr<int32_t>()[at];
  return Error(StatusCode::kInvalidArgument, {"A tensor that is read as a number is of no ints."});
}

Result<std::span<const std::byte>> BytesIn(const EValue& value, const Border& border,
                                           std::vector<std::byte>& scratch) {
  SPIRLOOM_TRY_ASSIGN(const bool is_wide, IsWide(value, border));
  const Tensor& tensor = value.toTensor();
  const std::span bytes(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes());
  if (!is_wide) return bytes;
  scratch.resize(bytes.size() / 2);
  SPIRLOOM_TRY(Narrow(*TypeOf(tensor.scalar_type()), bytes, scratch));
  return std::span<const std::byte>(scratch);
}

Result<std::span<std::byte>> BytesOut(EValue& value, const Border& border, const Shape& shape,
                                      std::vector<std::byte>& scratch) {
  SPIRLOOM_TRY_ASSIGN(const bool is_wide, IsWide(value, border));
  Tensor& tensor = value.toTensor();
  if (SizesOf(tensor) != shape) {
    const std::vector<SizesType> sizes(shape.begin(), shape.end());
    const auto error = ::executorch::runtime::resize_tensor(tensor, {sizes.data(), sizes.size()});
    if (error != ::executorch::runtime::Error::Ok) {
      return Error(StatusCode::kInvalidArgument,
                   {"A result of the sizes ", ToString(shape), " does not fit its tensor of ",
                    ToString(SizesOf(tensor)), "."});
    }
  }
  const std::span bytes(static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes());
  if (!is_wide) return bytes;
  scratch.resize(bytes.size() / 2);
  return std::span<std::byte>(scratch);
}

void Finish(EValue& value, std::span<const std::byte> scratch) {
  if (scratch.empty()) return;
  Tensor& tensor = value.toTensor();
  const std::span bytes(static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes());
  Widen(*TypeOf(tensor.scalar_type()), scratch, bytes);
}

Status SetNumber(EValue& value, int64_t number) {
  if (!value.isTensor()) {
    value = EValue(number);
    return Status();
  }
  Tensor& tensor = value.toTensor();
  if (tensor.numel() == 1 && tensor.scalar_type() == ScalarType::Long) {
    *tensor.mutable_data_ptr<int64_t>() = number;
  } else if (tensor.numel() == 1 && tensor.scalar_type() == ScalarType::Int) {
    *tensor.mutable_data_ptr<int32_t>() = static_cast<int32_t>(number);
  } else {
    return Error(StatusCode::kInvalidArgument, {"A result that is a number is a tensor of more."});
  }
  return Status();
}

}  // namespace spirloom::delegate
