#include "integrations/executorch/lower/narrow.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "runtime/base/data_types.h"
#include "runtime/base/elements.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

template <typename T>
T Load(std::span<const std::byte> from, size_t i) {
  T value;
  std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Store(std::span<std::byte> to, size_t i, T value) {
  std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
}

}  // namespace

Status Narrow(ElementType type, std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t count = from.size() / 8;
  for (size_t i = 0; i < count; ++i) {
    if (type == ElementType::kF64) {
      Store(to, i, static_cast<float>(Load<double>(from, i)));
      continue;
    }
    const auto value = Load<int64_t>(from, i);
    if (value != static_cast<int32_t>(value)) {
      return Error(StatusCode::kInvalidArgument,
                   "Element {} ({}) of an int64 tensor exceeds the 32-bit range of the device.", i,
                   value);
    }
    Store(to, i, static_cast<int32_t>(value));
  }
  return Status();
}

void Widen(ElementType type, std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t count = to.size() / 8;
  for (size_t i = 0; i < count; ++i) {
    if (type == ElementType::kF64) {
      Store(to, i, static_cast<double>(Load<float>(from, i)));
    } else {
      Store(to, i, static_cast<int64_t>(Load<int32_t>(from, i)));
    }
  }
}

Status StoreScalar(double value, DType dtype, std::span<std::byte> to) {
  const DTypeInfo& type = InfoOf(dtype);
  if (type.kind == DTypeKind::kInt &&
      (!(value >= type.min && value <= type.max) || std::trunc(value) != value)) {
    return Error(StatusCode::kInvalidArgument, "Value ({}) is not an int of {} bits.",
                 std::to_string(value), 8 * type.size);
  }
  StoreElement(dtype, value, to.first(type.size));
  return Status();
}

}  // namespace spirloom::delegate
