#include "integrations/executorch/backend/delegate_values.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
    case ScalarType::BFloat16:
      return ElementType::kBF16;
    case ScalarType::Float:
      return ElementType::kF32;
    case ScalarType::Double:
      return ElementType::kF64;
    default:
      return std::nullopt;
  }
}

// Whether the tensor has 64-bit elements, which must be converted. Fails unless the value is a
// tensor whose dtype corresponds to `spec.type`.
Result<bool> Is64Bit(const EValue& value, const IoSpec& spec) {
  if (!value.isTensor()) {
    return Error(StatusCode::kInvalidArgument,
                 "The value is not a tensor; the delegate expects a tensor.");
  }
  const Tensor& tensor = value.toTensor();
  const auto type = TypeOf(tensor.scalar_type());
  if (!type || DeviceType(*type) != DeviceType(spec.type)) {
    return Error(
        StatusCode::kInvalidArgument, "The tensor has dtype {}; the delegate expects {}.",
        type ? std::string(Name(*type)) : Concat("number ", static_cast<int>(tensor.scalar_type())),
        Name(spec.type));
  }
  return ElementSize(*type) != spirloom::ElementSize(DeviceType(*type));
}

// Whether the elements are in row-major order in memory, unlike those of channels_last.
bool IsRowMajor(const Tensor& tensor) {
  const auto order = tensor.dim_order();
  return ::executorch::runtime::is_contiguous_dim_order(order.data(), order.size());
}

// Copies all elements between row-major memory and the tensor's memory, in `direction`.
enum class Direction : uint8_t { kFromTensor, kToTensor };
template <typename Element>
void CopyElements(const Tensor& tensor, Direction direction, std::byte* row_major,
                  std::byte* memory) {
  const auto sizes = tensor.sizes();
  const auto strides = tensor.strides();
  const size_t rank = sizes.size();
  std::vector<SizesType> index(rank, 0);
  size_t offset = 0;  // in `memory`, in elements
  for (ssize_t i = 0; i < tensor.numel(); ++i) {
    std::byte* dense = row_major + static_cast<size_t>(i) * sizeof(Element);
    std::byte* strided = memory + offset * sizeof(Element);
    const bool reads = direction == Direction::kFromTensor;
    std::memcpy(reads ? dense : strided, reads ? strided : dense, sizeof(Element));
    for (size_t d = rank; d-- > 0;) {
      offset += static_cast<size_t>(strides[d]);
      if (++index[d] < sizes[d]) break;
      offset -= static_cast<size_t>(strides[d]) * static_cast<size_t>(sizes[d]);
      index[d] = 0;
    }
  }
}

void CopyElements(const Tensor& tensor, Direction direction, std::byte* row_major,
                  std::byte* memory) {
  switch (tensor.element_size()) {
    case 1:
      return CopyElements<uint8_t>(tensor, direction, row_major, memory);
    case 2:
      return CopyElements<uint16_t>(tensor, direction, row_major, memory);
    case 4:
      return CopyElements<uint32_t>(tensor, direction, row_major, memory);
    default:
      return CopyElements<uint64_t>(tensor, direction, row_major, memory);
  }
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

bool CanResize(const EValue& value) {
  return value.isTensor() &&
         value.toTensor().shape_dynamism() != ::executorch::runtime::TensorShapeDynamism::STATIC;
}

Result<int64_t> IntAt(const EValue& value, int64_t i) {
  if (value.isInt()) return value.toInt();
  if (value.isBool()) return int64_t{value.toBool()};
  if (!value.isTensor()) {
    return Error(StatusCode::kInvalidArgument,
                 "The value is not an int, a bool or a tensor; the delegate expects an int.");
  }
  const Tensor& tensor = value.toTensor();
  const auto count = static_cast<int64_t>(tensor.numel());
  const int64_t index = i < 0 ? i + count : i;
  if (index < 0 || index >= count) {
    return Error(StatusCode::kInvalidArgument,
                 "Element index ({}) is out of range of a tensor of {} elements.", i, count);
  }
  if (tensor.scalar_type() == ScalarType::Long) return tensor.const_data_ptr<int64_t>()[index];
  if (tensor.scalar_type() == ScalarType::Int) return tensor.const_data_ptr<int32_t>()[index];
  return Error(StatusCode::kInvalidArgument,
               "The tensor has a non-integer dtype; the delegate reads an int from it.");
}

Result<std::span<const std::byte>> InputBytes(const EValue& value, const IoSpec& spec,
                                              std::vector<std::byte>& scratch) {
  SPIRLOOM_TRY_ASSIGN(const bool is_64_bit, Is64Bit(value, spec));
  const Tensor& tensor = value.toTensor();
  std::span bytes(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes());
  std::vector<std::byte> row_major;
  if (!IsRowMajor(tensor)) {
    row_major.resize(bytes.size());
    CopyElements(tensor, Direction::kFromTensor, row_major.data(),
                 const_cast<std::byte*>(bytes.data()));
    bytes = row_major;
  }
  if (is_64_bit) {
    scratch.resize(bytes.size() / 2);
    SPIRLOOM_TRY(Narrow(*TypeOf(tensor.scalar_type()), bytes, scratch));
    return std::span<const std::byte>(scratch);
  }
  if (row_major.empty()) return bytes;
  scratch = std::move(row_major);
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
                   "The output has shape {}, which exceeds its tensor of shape {}.",
                   ToString(shape), ToString(SizesOf(tensor)));
    }
  }
  const std::span bytes(static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes());
  scratch.resize(is_64_bit ? bytes.size() / 2 : IsRowMajor(tensor) ? 0 : bytes.size());
  return scratch.empty() ? bytes : std::span<std::byte>(scratch);
}

void FinishOutput(EValue& value, std::span<std::byte> scratch) {
  if (scratch.empty()) return;
  Tensor& tensor = value.toTensor();
  const std::span bytes(static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes());
  if (scratch.size() == bytes.size()) {
    return CopyElements(tensor, Direction::kToTensor, scratch.data(), bytes.data());
  }
  const ElementType type = *TypeOf(tensor.scalar_type());
  if (IsRowMajor(tensor)) return Widen(type, scratch, bytes);
  std::vector<std::byte> row_major(bytes.size());
  Widen(type, scratch, row_major);
  CopyElements(tensor, Direction::kToTensor, row_major.data(), bytes.data());
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
                 "The output is an int; its tensor is not a single int32 or int64 element.");
  }
  return Status();
}

}  // namespace spirloom::delegate
