// Errors with a message of a format and its values, built out of line (see text.h).
#ifndef SPIRLOOM_RUNTIME_BASE_ERROR_H_
#define SPIRLOOM_RUNTIME_BASE_ERROR_H_

#include <initializer_list>
#include <utility>

#include "runtime/base/text.h"
#include "spirloom/export.h"
#include "spirloom/status.h"

namespace spirloom {

// The error of Error() below.
Status ErrorOfValues(StatusCode code, const char* format,
                     std::initializer_list<TextPiece> values) noexcept;
Status InvalidFileOfValues(const char* format, std::initializer_list<TextPiece> values) noexcept;

// E.g. return Error(StatusCode::kUnsupported, "Size ({}) exceeds {}.", size, limit). Returns
// Status::OutOfMemory() if there is no memory for the text: noexcept, so that callers need no
// cleanup code.
template <typename... Values>
SPIRLOOM_ALWAYS_INLINE inline Status Error(StatusCode code, FormatString<sizeof...(Values)> format,
                                           const Values&... values) noexcept {
  return ErrorOfValues(code, format.text(), {values...});
}

// An error for a malformed graph, library or other file.
template <typename... Values>
SPIRLOOM_ALWAYS_INLINE inline Status InvalidFile(FormatString<sizeof...(Values)> format,
                                                 const Values&... values) noexcept {
  return InvalidFileOfValues(format.text(), {values...});
}

}  // namespace spirloom

// SPIRLOOM_TRY with context for the error, e.g. SPIRLOOM_TRY_WHILE(Read(node), "reading node {}",
// i). The text is only built if there is an error.
#define SPIRLOOM_TRY_WHILE(expression, ...)                                       \
  do {                                                                            \
    if (::spirloom::Status spirloom_status = (expression); !spirloom_status.ok()) \
      return std::move(spirloom_status).While(::spirloom::Format(__VA_ARGS__));   \
  } while (false)

#endif  // SPIRLOOM_RUNTIME_BASE_ERROR_H_
