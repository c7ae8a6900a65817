#include "spirloom/types.h"

#include <array>

namespace spirloom {
namespace {

struct DTypeInfo {
  size_t size;
  const char* short_name;
  const char* long_name;
};

constexpr std::array<DTypeInfo, 6> kDTypes = {{{4, "f32", "float32"},
                                               {2, "f16", "float16"},
                                               {4, "i32", "int32"},
                                               {1, "i8", "int8"},
                                               {1, "u8", "uint8"},
                                               {1, "b8", "bool"}}};
constexpr DTypeInfo kUnknown = {0, "unknown", "unknown"};

const DTypeInfo& Info(DType dtype) {
  const auto i = static_cast<size_t>(dtype);
  return i < kDTypes.size() ? kDTypes[i] : kUnknown;
}

}  // namespace

size_t ElementSize(DType dtype) { return Info(dtype).size; }
const char* ShortName(DType dtype) { return Info(dtype).short_name; }
const char* LongName(DType dtype) { return Info(dtype).long_name; }

const char* Name(Storage storage) {
  switch (storage) {
    case Storage::kAuto:
      return "auto";
    case Storage::kBuffer:
      return "buffer";
    case Storage::kTexture3D:
      return "texture3d";
    case Storage::kTexture2D:
      return "texture2d";
  }
  return "unknown";
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
