// Errors with a message of pieces, made out of line as text.h says why.
#ifndef SPIRLOOM_RUNTIME_BASE_ERROR_H_
#define SPIRLOOM_RUNTIME_BASE_ERROR_H_

#include <initializer_list>
#include <utility>

#include "runtime/base/text.h"
#include "spirloom/status.h"

namespace spirloom {

// E.g. return Error(StatusCode::kUnsupported, {"Size (", size, ") exceeds ", limit, "."}).
Status Error(StatusCode code, std::initializer_list<TextPiece> message);

// Of a malformed graph, library or other file.
Status InvalidFile(std::initializer_list<TextPiece> message);

}  // namespace spirloom

// As SPIRLOOM_TRY, with the context of an error, which is put together only when there is one, e.g.
// SPIRLOOM_TRY_WHILE(Read(node), {"reading node ", i}).
#define SPIRLOOM_TRY_WHILE(expression, ...)                                       \
  do {                                                                            \
    if (::spirloom::Status spirloom_status = (expression); !spirloom_status.ok()) \
      return std::move(spirloom_status).While(::spirloom::Concat(__VA_ARGS__));   \
  } while (false)

#endif  // SPIRLOOM_RUNTIME_BASE_ERROR_H_
