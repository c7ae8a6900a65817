// Errors as values: Status and Result<T>. Spirloom's API does not throw. Exhausted host memory is
// kOutOfMemory; objects that existed before the failed call remain usable.
//
//   spirloom::Result<spirloom::Model> model = spirloom::Model::Load(runtime, "net.slg");
//   if (!model.ok()) std::fprintf(stderr, "%s\n", model.status().message().c_str());
//
// A message is one or more sentences with the expected and the actual value, followed by a line
// " - While ..." for each level of context.
#ifndef SPIRLOOM_STATUS_H_
#define SPIRLOOM_STATUS_H_

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "spirloom/export.h"

namespace spirloom {

// Values never change; new codes are appended.
enum class StatusCode {
  kOk = 0,
  kInvalidArgument = 1,  // an argument is invalid, e.g. a name, a shape, an option
  kInvalidFile = 2,      // a graph, library or input file is malformed
  kNotFound = 3,         // a file, operator or variant does not exist
  kUnsupported = 4,      // valid, but the device or the library does not support it
  kOutOfMemory = 5,      // of the host or the device, or RuntimeOptions::memory_limit is reached
  kDeviceLost = 6,       // the device is lost: destroy the Runtime and create a new one
  kInternal = 7,         // a bug in Spirloom, a shader library or a driver
  kBusy = 8,             // a run is in flight, or its results were overwritten
  kPermission = 9,       // the process may not read the file
  kUnavailable = 10,     // no Vulkan loader, driver, device or layer on this machine
};

// Returns e.g. "invalid argument".
SPIRLOOM_API const char* StatusCodeName(StatusCode code);

// OK or an error. One pointer, null if OK: success costs one comparison, and errors are created and
// freed out of line. Copyable.
class [[nodiscard]] SPIRLOOM_API Status {
 public:
  Status() = default;  // OK
  // An error. With kOk, the Status is OK and `message` is ignored.
  Status(StatusCode code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  // Inline, so that the destruction of an OK status that has been checked costs nothing.
  SPIRLOOM_ALWAYS_INLINE ~Status() {
    if (error_ != nullptr) Free(error_);
  }

  bool ok() const { return error_ == nullptr; }
  StatusCode code() const;
  const std::string& message() const;  // empty when OK

  // Host memory is exhausted. Allocates nothing.
  static Status OutOfMemory() noexcept;

  // Appends the line " - While <what>." to an error; OK and OutOfMemory() remain unchanged, and any
  // error if there is no memory for the line.
  Status While(std::string_view what) && noexcept;
  // Returns this error, or kInternal if it is OK. Used by Result; noexcept, so that callers need no
  // cleanup code.
  Status ToError() && noexcept;

 private:
  struct Error {
    StatusCode code;
    std::string message;
  };
  static void Free(Error* error) noexcept;
  static Error out_of_memory;
  Error* error_ = nullptr;
};

// A value of type T, or the Status of its failure.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T given) : value_(std::move(given)) {}  // NOLINT: implicit by design
  // An error. OK becomes kInternal, as there is no value.
  Result(Status&& status) : status_(std::move(status).ToError()) {}  // NOLINT: likewise
  Result(const Status& status) : Result(Status(status)) {}           // NOLINT

  bool ok() const { return value_.has_value(); }
  // The error, or OK. For a temporary Result, status() and `*` return references into it, which
  // avoids one move.
  Status status() const& { return status_; }
  Status&& status() && { return std::move(status_); }

  // The value; requires ok(). value() moves it out.
  T& operator*() & {
    assert(ok());
    return *value_;
  }
  const T& operator*() const& {
    assert(ok());
    return *value_;
  }
  T&& operator*() && {
    assert(ok());
    return *std::move(value_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  T value() && {
    assert(ok());
    return *std::move(value_);
  }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace spirloom

// Returns the error from the calling function if `expression` (a Status) is not OK.
#define SPIRLOOM_TRY(expression)                                                \
  do {                                                                          \
    if (::spirloom::Status spirloom_tried = (expression); !spirloom_tried.ok()) \
      return spirloom_tried;                                                    \
  } while (false)

#define SPIRLOOM_CONCAT_INNER(a, b) a##b
#define SPIRLOOM_CONCAT(a, b) SPIRLOOM_CONCAT_INNER(a, b)

// Assigns the value of `expression` (a Result<T>) to `target`, or returns its error from the
// calling function. With GCC and Clang, the Result is destroyed at once, not at the end of the
// scope: its destruction then needs no code.
#if defined(__GNUC__)
#define SPIRLOOM_TRY_ASSIGN(target, expression)                            \
  target = __extension__({                                                 \
    auto spirloom_result = (expression);                                   \
    if (!spirloom_result.ok()) return std::move(spirloom_result).status(); \
    *std::move(spirloom_result);                                           \
  })
#else
#define SPIRLOOM_TRY_ASSIGN(target, expression) \
  SPIRLOOM_TRY_ASSIGN_IMPL(SPIRLOOM_CONCAT(spirloom_result_, __LINE__), target, expression)
#define SPIRLOOM_TRY_ASSIGN_IMPL(result, target, expression) \
  auto result = (expression);                                \
  if (!result.ok()) return std::move(result).status();       \
  target = *std::move(result)
#endif

#endif  // SPIRLOOM_STATUS_H_
