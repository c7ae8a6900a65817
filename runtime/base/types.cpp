#include "spirloom/types.h"

#include <array>

#include "runtime/base/data_types.h"

namespace spirloom {
namespace {

// By value of Storage.
constexpr auto kStorageNames = std::to_array<const char*>({
#define SPIRLOOM_STORAGE(id, name, ...) #name,
#include "spec_model/storages.inc"
#undef SPIRLOOM_STORAGE
});
#define SPIRLOOM_STORAGE(id, name, ...) \
  static_assert(std::string_view(kStorageNames[static_cast<size_t>(Storage::k##id)]) == #name);
#include "spec_model/storages.inc"
#undef SPIRLOOM_STORAGE

constexpr const char* kUnknown = "unknown";

const DTypeInfo* Find(DType dtype) {
  const auto i = static_cast<size_t>(dtype);
  return i < kDTypes.size() ? &kDTypes[i] : nullptr;
}

}  // namespace

size_t ElementSize(DType dtype) {
  const DTypeInfo* info = Find(dtype);
  return info == nullptr ? 0 : info->size;
}

const char* ShortName(DType dtype) {
  const DTypeInfo* info = Find(dtype);
  return info == nullptr ? kUnknown : info->name;
}

const char* LongName(DType dtype) {
  const DTypeInfo* info = Find(dtype);
  return info == nullptr ? kUnknown : info->long_name;
}

const char* Name(Storage storage) {
  const auto i = static_cast<size_t>(storage);
  return i < kStorageNames.size() ? kStorageNames[i] : kUnknown;
}

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace spirloom
