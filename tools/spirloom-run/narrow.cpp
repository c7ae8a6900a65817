#include "tools/spirloom-run/narrow.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace spirloom::run {
namespace {

// Calls visit(position, number) for each element until it gives false; returns whether none did.
template <typename T, typename Visit>
bool ForEach(std::span<const std::byte> data, Visit visit) {
  for (size_t i = 0; i < data.size() / sizeof(T); ++i) {
    T number;
    std::memcpy(&number, data.data() + i * sizeof(T), sizeof(T));
    if (!visit(i, number)) return false;
  }
  return true;
}

template <typename T>
Result<std::vector<std::byte>> Narrow(std::span<const std::byte> data) {
  std::vector<std::byte> result(data.size() / sizeof(T) * sizeof(int32_t));
  std::string wrong;
  ForEach<T>(data, [&](size_t i, T number) {
    if (!std::in_range<int32_t>(number)) {
      wrong = "Element " + std::to_string(i) + " (" + std::to_string(number) +
              ") does not fit int32, in which 64-bit integers are computed.";
      return false;
    }
    const auto narrow = static_cast<int32_t>(number);
    std::memcpy(result.data() + i * sizeof(narrow), &narrow, sizeof(narrow));
    return true;
  });
  if (!wrong.empty()) return Status(StatusCode::kInvalidFile, std::move(wrong));
  return result;
}

Result<std::vector<std::byte>> RoundToFloat32(std::span<const std::byte> data) {
  constexpr double kGreatest = std::numeric_limits<float>::max();
  std::vector<std::byte> result(data.size() / sizeof(double) * sizeof(float));
  std::string wrong;
  ForEach<double>(data, [&](size_t i, double number) {
    if (std::isfinite(number) && std::abs(number) > kGreatest) {
      wrong = "Element " + std::to_string(i) + " (" + std::to_string(number) +
              ") does not fit float32, in which float64 is computed.";
      return false;
    }
    const auto rounded = static_cast<float>(number);
    std::memcpy(result.data() + i * sizeof(rounded), &rounded, sizeof(rounded));
    return true;
  });
  if (!wrong.empty()) return Status(StatusCode::kInvalidFile, std::move(wrong));
  return result;
}

template <typename T>
Status Check(std::span<const std::byte> data, int64_t least, int64_t greatest) {
  std::string wrong;
  ForEach<T>(data, [&](size_t i, T number) {
    // A comparison with NaN is false.
    if (static_cast<double>(least) <= static_cast<double>(number) &&
        static_cast<double>(number) <= static_cast<double>(greatest)) {
      return true;
    }
    wrong = "Element " + std::to_string(i) + " (" + std::to_string(number) + ") is not between " +
            std::to_string(least) + " and " + std::to_string(greatest) +
            ", the bounds that the model was imported with (spirloom import --range).";
    return false;
  });
  return wrong.empty() ? Status() : Status(StatusCode::kInvalidArgument, std::move(wrong));
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

Status CheckBounds(const Array& array, int64_t least, int64_t greatest) {
  constexpr auto kUnbounded =
      std::make_pair(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  if (std::make_pair(least, greatest) == kUnbounded) return Status();
  switch (array.dtype) {
    case DType::kF32:
      return Check<float>(array.bytes, least, greatest);
    case DType::kI32:
      return Check<int32_t>(array.bytes, least, greatest);
    case DType::kI8:
      return Check<int8_t>(array.bytes, least, greatest);
    case DType::kU8:
      return Check<uint8_t>(array.bytes, least, greatest);
    case DType::kF16:
    case DType::kB8:
      break;
  }
  return Status();
}

}  // namespace spirloom::run
