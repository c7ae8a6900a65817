#include "runtime/base/error.h"

namespace spirloom {

Status Error(StatusCode code, std::initializer_list<TextPiece> message) noexcept {
  try {
    return Status(code, Concat(message));
  } catch (...) {
    return Status::OutOfMemory();
  }
}

Status InvalidFile(std::initializer_list<TextPiece> message) noexcept {
  return Error(StatusCode::kInvalidFile, message);
}

}  // namespace spirloom
