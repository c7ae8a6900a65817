#include "runtime/base/error.h"

namespace spirloom {

Status ErrorOfList(StatusCode code, const char* format, uint64_t types, va_list values) noexcept {
  try {
    return Status(code, FormatList(format, types, values));
  } catch (...) {
    return Status::OutOfMemory();
  }
}

Status WhileValues(Status&& status, const char* format, uint64_t types, ...) noexcept {
  if (status.ok()) return Status();
  va_list values;
  va_start(values, types);
  try {
    status = std::move(status).While(FormatList(format, types, values));
  } catch (...) {  // without the line
  }
  va_end(values);
  return std::move(status);
}

Status ErrorOfValues(StatusCode code, const char* format, uint64_t types, ...) noexcept {
  va_list values;
  va_start(values, types);
  Status error = ErrorOfList(code, format, types, values);
  va_end(values);
  return error;
}

Status InvalidFileOfValues(const char* format, uint64_t types, ...) noexcept {
  va_list values;
  va_start(values, types);
  Status error = ErrorOfList(StatusCode::kInvalidFile, format, types, values);
  va_end(values);
  return error;
}

}  // namespace spirloom
