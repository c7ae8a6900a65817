// Errors with a message of several pieces, built out of line (see text.h).
#ifndef SPIRLOOM_RUNTIME_BASE_ERROR_H_
#define SPIRLOOM_RUNTIME_BASE_ERROR_H_

#include <initializer_list>
#include <utility>

#include "runtime/base/text.h"
#include "spirloom/status.h"

namespace spirloom {

// E.g. return Error(StatusCode::kUnsupported, {"Size (", size, ") exceeds ", limit, "."}). Returns
// Status::OutOfMemory() if there is no memory for the text: noexcept, so that callers need no
// cleanup code.
Status Error(StatusCode code, std::initializer_list<TextPiece> message) noexcept;

// An error for a malformed graph, library or other file.
Status InvalidFile(std::initializer_list<TextPiece> message) noexcept;

}  // namespace spirloom

// SPIRLOOM_TRY with context for the error, e.g. SPIRLOOM_TRY_WHILE(Read(node), {"reading node ",
// i}). The text is only built if there is an error.
#define SPIRLOOM_TRY_WHILE(expression, ...)                                       \
  do {                                                                            \
    if (::spirloom::Status spirloom_status = (expression); !spirloom_status.ok()) \
      return std::move(spirloom_status).While(::spirloom::Concat(__VA_ARGS__));   \
  } while (false)

#endif  // SPIRLOOM_RUNTIME_BASE_ERROR_H_
