#include "integrations/executorch/blob/program.h"

#include "runtime/base/error.h"

namespace spirloom::delegate {

DType DeviceType(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return DType::kB8;
    case ElementType::kU8:
      return DType::kU8;
    case ElementType::kI8:
      return DType::kI8;
    case ElementType::kI32:
    case ElementType::kI64:
      return DType::kI32;
    case ElementType::kF16:
      return DType::kF16;
    case ElementType::kF32:
    case ElementType::kF64:
      return DType::kF32;
    case ElementType::kBF16:
      return DType::kBF16;
  }
  return DType::kF32;
}

size_t ElementSize(ElementType type) {
  const bool is_64_bit = type == ElementType::kI64 || type == ElementType::kF64;
  return is_64_bit ? 8 : spirloom::ElementSize(DeviceType(type));
}

const char* Name(ElementType type) {
  if (type == ElementType::kI64) return "int64";
  return type == ElementType::kF64 ? "float64" : LongName(DeviceType(type));
}

std::string DescribeValue(uint32_t value) { return Concat("value ", value); }

}  // namespace spirloom::delegate
