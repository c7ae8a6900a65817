// Errors with a message of pieces, made out of line as text.h says why.
#ifndef SPIRLOOM_RUNTIME_BASE_ERROR_H_
#define SPIRLOOM_RUNTIME_BASE_ERROR_H_

#include <initializer_list>

#include "runtime/base/text.h"
#include "spirloom/status.h"

namespace spirloom {

// E.g. return Error(StatusCode::kUnsupported, {"Size (", size, ") exceeds ", limit, "."}).
Status Error(StatusCode code, std::initializer_list<TextPiece> message);

// Of a malformed graph, library or other file.
Status InvalidFile(std::initializer_list<TextPiece> message);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_ERROR_H_
