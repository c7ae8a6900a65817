#include "runtime/base/data_types.h"

#include <algorithm>

namespace spirloom {
namespace {

// The enumerators of the public header are those of the table.
#define SPIRLOOM_DTYPE(id, short_name, ...)                          \
  static_assert(kDTypes.size() > static_cast<size_t>(DType::k##id)); \
  static_assert(std::string_view(InfoOf(DType::k##id).name) == #short_name);
#include "spec_model/data_types.inc"
#undef SPIRLOOM_DTYPE

}  // namespace

std::optional<DType> DTypeOfValue(int64_t value) {
  if (value < 0 || value >= static_cast<int64_t>(kDTypes.size())) return std::nullopt;
  return static_cast<DType>(value);
}

std::optional<DType> FindDType(std::string_view name) {
  const auto* const found = std::ranges::find(kDTypes, name, &DTypeInfo::name);
  if (found == kDTypes.end()) return std::nullopt;
  return static_cast<DType>(found - kDTypes.begin());
}

}  // namespace spirloom
