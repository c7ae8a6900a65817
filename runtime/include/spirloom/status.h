// Errors as values: Status and Result<T>. Nothing is thrown across Spirloom's API, also when host
// memory runs out: that is kOutOfMemory, and what was there before the call can be used on.
//
// A message is one or more present-tense sentences naming the thing and both values, followed by a
// " - While ..." line for each caller that added context.
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

// The numbers stay; new codes are added at the end.
enum class StatusCode {
  kOk = 0,
  kInvalidArgument = 1,  // the caller passed something wrong (a name, a shape, an option)
  kInvalidFile = 2,      // a graph, library or input file is malformed
  kNotFound = 3,         // a file, operator or variant does not exist
  kUnsupported = 4,      // valid, but not by this device or this library
  kOutOfMemory = 5,      // the host's, the device's, or RuntimeOptions::memory_limit is reached
  kDeviceLost = 6,       // the device is gone for this process: make a new Runtime, or give up
  kInternal = 7,         // a mistake of Spirloom's, a library's or a driver's
  kBusy = 8,             // right, but not now: a run is in flight, or its results are gone
  kPermission = 9,       // the system does not let the program read the file
  kUnavailable = 10,     // this machine has no Vulkan loader, driver, device or layer to use
};

// Returns e.g. "invalid argument".
SPIRLOOM_API const char* StatusCodeName(StatusCode code);

// OK or an error: one pointer, null when OK, so that success costs a comparison and all of an error
// is made and freed out of line. Copyable.
class [[nodiscard]] SPIRLOOM_API Status {
 public:
  Status() = default;  // OK
  // An error; of kOk, OK, and `message` is dropped.
  Status(StatusCode code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;
  ~Status() = default;

  bool ok() const { return error_ == nullptr; }
  StatusCode code() const;
  const std::string& message() const;  // empty when OK

  // Host memory has run out. Takes none.
  static Status OutOfMemory() noexcept;

  // Returns this error with the line " - While <what>." added; OK stays OK, OutOfMemory() as it is.
  Status While(std::string_view what) &&;
  // Returns this error; of OK, kInternal. Every result that passes an error on calls this: throwing
  // nothing, it needs no cleanup there.
  Status ToError() && noexcept;

 private:
  struct Error {
    StatusCode code;
    std::string message;
  };
  struct Delete {
    void operator()(Error* error) const noexcept;
  };
  static Error out_of_memory;
  std::unique_ptr<Error, Delete> error_;
};

// A T, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T given) : value_(std::move(given)) {}  // NOLINT: implicit by design
  // An error; OK, which says nothing of a value, becomes kInternal.
  Result(Status&& status) : status_(std::move(status).ToError()) {}  // NOLINT: likewise
  Result(const Status& status) : Result(Status(status)) {}           // NOLINT

  bool ok() const { return value_.has_value(); }
  // The error, or OK; of a temporary, a reference into it, as is its value by `*`: what is passed
  // on makes no third one.
  Status status() const& { return status_; }
  Status&& status() && { return std::move(status_); }

  // The value; only valid when ok(). value() is a T of its own.
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

// Returns from the calling function with the error, if `expression` (a Status) is one.
#define SPIRLOOM_TRY(expression)                                                \
  do {                                                                          \
    if (::spirloom::Status spirloom_tried = (expression); !spirloom_tried.ok()) \
      return spirloom_tried;                                                    \
  } while (false)

#define SPIRLOOM_CONCAT_INNER(a, b) a##b
#define SPIRLOOM_CONCAT(a, b) SPIRLOOM_CONCAT_INNER(a, b)

// Assigns the value of `expression` (a Result<T>) to `target`, or returns its error.
#define SPIRLOOM_TRY_ASSIGN(target, expression) \
  SPIRLOOM_TRY_ASSIGN_IMPL(SPIRLOOM_CONCAT(spirloom_result_, __LINE__), target, expression)
#define SPIRLOOM_TRY_ASSIGN_IMPL(result, target, expression) \
  auto result = (expression);                                \
  if (!result.ok()) return std::move(result).status();       \
  target = *std::move(result)

#endif  // SPIRLOOM_STATUS_H_
