// The rows of spec_model/data_types.inc: the properties of each element type.
#ifndef SPIRLOOM_RUNTIME_BASE_DATA_TYPES_H_
#define SPIRLOOM_RUNTIME_BASE_DATA_TYPES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "spirloom/types.h"

namespace spirloom {

// kStoredFloat: a float that kernels convert where they load and store it.
enum class DTypeKind : uint8_t { kFloat, kStoredFloat, kInt, kBool };

struct DTypeInfo {
  const char* name;       // "f16"
  const char* long_name;  // "float16"
  size_t size;            // bytes
  DTypeKind kind;
  int exponent_bits;  // 0 for integers
  int mantissa_bits;  // stored ones; 0 for integers
  double min;         // minimum and maximum finite values
  double max;
  const char* numpy;  // code of the NumPy type with the element's bytes

  constexpr bool IsFloat() const {
    return kind == DTypeKind::kFloat || kind == DTypeKind::kStoredFloat;
  }
};

// By value of DType.
inline constexpr auto kDTypes = std::to_array<DTypeInfo>({
#define SPIRLOOM_DTYPE(id, name, long_name, kind, exponent, mantissa, c_type, min, max, numpy, \
                       ...)                                                                    \
  {#name, #long_name, sizeof(c_type), DTypeKind::k##kind, exponent, mantissa, min, max, numpy},
#include "spec_model/data_types.inc"
#undef SPIRLOOM_DTYPE
});

// The row of a dtype, which must be one of the enumerators.
constexpr const DTypeInfo& InfoOf(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

// The dtype of a value in a file or of the C API. None if there is no such dtype.
std::optional<DType> DTypeOfValue(int64_t value);

// The dtype with a short name, e.g. "f16".
std::optional<DType> FindDType(std::string_view name);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_DATA_TYPES_H_
