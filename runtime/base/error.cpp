#include "runtime/base/error.h"

namespace spirloom {

Status ErrorOfValues(StatusCode code, const char* format,
                     std::initializer_list<TextPiece> values) noexcept {
  try {
    return Status(code, FormatValues(format, values));
  } catch (...) {
    return Status::OutOfMemory();
  }
}

Status InvalidFileOfValues(const char* format, std::initializer_list<TextPiece> values) noexcept {
  return ErrorOfValues(StatusCode::kInvalidFile, format, values);
}

}  // namespace spirloom
