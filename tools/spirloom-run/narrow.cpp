#include "tools/spirloom-run/narrow.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "runtime/base/data_types.h"
#include "runtime/base/elements.h"

namespace spirloom::run {
namespace {

// Calls visit(index, value) for each element while it returns true. Returns whether all calls did.
template <typename T, typename Visit>
bool ForEach(std::span<const std::byte> data, Visit visit) {
  for (size_t i = 0; i < data.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    if (!visit(i, value)) return false;
  }
  return true;
}

template <typename T>
Result<std::vector<std::byte>> Narrow(std::span<const std::byte> data) {
  std::vector<std::byte> result(data.size() / sizeof(T) * sizeof(int32_t));
  std::string error;
  ForEach<T>(data, [&](size_t i, T value) {
    if (!std::in_range<int32_t>(value)) {
      error = "Element " + std::to_string(i) + " (" + std::to_string(value) +
              ") does not fit int32; Spirloom computes 64-bit integers as int32.";
      return false;
    }
    const auto narrow = static_cast<int32_t>(value);
    std::memcpy(result.data() + i * sizeof(narrow), &narrow, sizeof(narrow));
    return true;
  });
  if (!error.empty()) return Status(StatusCode::kInvalidFile, std::move(error));
  return result;
}

Result<std::vector<std::byte>> RoundToFloat32(std::span<const std::byte> data) {
  constexpr double kMax = std::numeric_limits<float>::max();
  std::vector<std::byte> result(data.size() / sizeof(double) * sizeof(float));
  std::string error;
  ForEach<double>(data, [&](size_t i, double value) {
    if (std::isfinite(value) && std::abs(value) > kMax) {
      error = "Element " + std::to_string(i) + " (" + std::to_string(value) +
              ") does not fit float32; Spirloom computes float64 as float32.";
      return false;
    }
    const auto rounded = static_cast<float>(value);
    std::memcpy(result.data() + i * sizeof(rounded), &rounded, sizeof(rounded));
    return true;
  });
  if (!error.empty()) return Status(StatusCode::kInvalidFile, std::move(error));
  return result;
}

}  // namespace

size_t ElementSize(WideType type) {
  switch (type) {
    case WideType::kInt64:
    case WideType::kUint64:
    case WideType::kFloat64:
      return 8;
    case WideType::kUint32:
      return 4;
    case WideType::kInt16:
    case WideType::kUint16:
      break;
  }
  return 2;
}

Result<std::vector<std::byte>> Narrowed(std::span<const std::byte> data, WideType type) {
  switch (type) {
    case WideType::kInt64:
      return Narrow<int64_t>(data);
    case WideType::kUint64:
      return Narrow<uint64_t>(data);
    case WideType::kUint32:
      return Narrow<uint32_t>(data);
    case WideType::kInt16:
      return Narrow<int16_t>(data);
    case WideType::kFloat64:
      return RoundToFloat32(data);
    case WideType::kUint16:
      break;
  }
  return Narrow<uint16_t>(data);
}

Status CheckBounds(const Array& array, int64_t min, int64_t max) {
  constexpr auto kUnbounded =
      std::make_pair(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  if (std::make_pair(min, max) == kUnbounded) return Status();
  const DTypeInfo& type = InfoOf(array.dtype);
  if (type.kind == DTypeKind::kBool) return Status();
  for (size_t i = 0; i < array.bytes.size() / type.size; ++i) {
    const double value =
        LoadElement(array.dtype, std::span(array.bytes).subspan(i * type.size, type.size));
    // A comparison with NaN is false.
    if (static_cast<double>(min) <= value && value <= static_cast<double>(max)) continue;
    const std::string text =
        type.IsFloat() ? std::to_string(value) : std::to_string(static_cast<int64_t>(value));
    return Status(StatusCode::kInvalidArgument,
                  "Element " + std::to_string(i) + " (" + text + ") is not between " +
                      std::to_string(min) + " and " + std::to_string(max) +
                      ", the bounds that the model was imported with (spirloom import --range).");
  }
  return Status();
}

}  // namespace spirloom::run
