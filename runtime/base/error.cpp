#include "runtime/base/error.h"

namespace spirloom {

Status Error(StatusCode code, std::initializer_list<TextPiece> message) {
  return Status(code, Concat(message));
}

Status InvalidFile(std::initializer_list<TextPiece> message) {
  return Error(StatusCode::kInvalidFile, message);
}

}  // namespace spirloom
