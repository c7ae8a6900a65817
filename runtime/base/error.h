// Errors with a message of a format and its values, built out of line (see text.h).
#ifndef SPIRLOOM_RUNTIME_BASE_ERROR_H_
#define SPIRLOOM_RUNTIME_BASE_ERROR_H_

#include <cstdarg>
#include <cstdint>
#include <utility>

#include "runtime/base/text.h"
#include "spirloom/export.h"
#include "spirloom/status.h"

namespace spirloom {

// The error of Error() below.
Status ErrorOfValues(StatusCode code, const char* format, uint64_t types, ...) noexcept;
Status InvalidFileOfValues(const char* format, uint64_t types, ...) noexcept;
Status WhileValues(Status&& status, const char* format, uint64_t types, ...) noexcept;
Status ErrorOfList(StatusCode code, const char* format, uint64_t types, va_list values) noexcept;

// E.g. return Error(StatusCode::kUnsupported, "Size ({}) exceeds {}.", size, limit). Returns
// Status::OutOfMemory() if there is no memory for the text: noexcept, so that callers need no
// cleanup code.
template <typename... Values>
SPIRLOOM_ALWAYS_INLINE inline Status Error(StatusCode code, FormatString<sizeof...(Values)> format,
                                           const Values&... values) noexcept {
  return ErrorOfValues(code, format.text(), TypesOf<Values...>(), ToArgument(values)...);
}

// An error for a malformed graph, library or other file.
template <typename... Values>
SPIRLOOM_ALWAYS_INLINE inline Status InvalidFile(FormatString<sizeof...(Values)> format,
                                                 const Values&... values) noexcept {
  return InvalidFileOfValues(format.text(), TypesOf<Values...>(), ToArgument(values)...);
}

// As Status::While(): e.g. return While(std::move(status), "reading node {}", i).
template <typename... Values>
SPIRLOOM_ALWAYS_INLINE inline Status While(Status&& status, FormatString<sizeof...(Values)> format,
                                           const Values&... values) noexcept {
  return WhileValues(std::move(status), format.text(), TypesOf<Values...>(), ToArgument(values)...);
}

}  // namespace spirloom

// SPIRLOOM_TRY with context for the error, e.g. SPIRLOOM_TRY_WHILE(Read(node), "reading node {}",
// i). The text is only built if there is an error.
#define SPIRLOOM_TRY_WHILE(expression, ...)                                       \
  do {                                                                            \
    if (::spirloom::Status spirloom_status = (expression); !spirloom_status.ok()) \
      return ::spirloom::While(std::move(spirloom_status), __VA_ARGS__);          \
  } while (false)

#endif  // SPIRLOOM_RUNTIME_BASE_ERROR_H_
