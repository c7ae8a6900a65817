// Errors as values: Status and Result<T>. Nothing is thrown across Spirloom's API.
//
// A message is one or more present-tense sentences naming the thing and both values, followed by a
// " - While ..." line for each caller that added context.
#ifndef SPIRLOOM_STATUS_H_
#define SPIRLOOM_STATUS_H_

#include <string>
#include <utility>
#include <variant>

namespace spirloom {

enum class StatusCode {
  kOk,
  kInvalidArgument,  // the caller passed something wrong (a name, a shape, an option)
  kInvalidFile,      // a graph, library or input file is malformed
  kNotFound,         // a file, device, operator or variant does not exist
  kUnsupported,      // valid, but not by this device or this library
  kOutOfMemory,
  kDeviceLost,
  kInternal,
};

// Returns e.g. "invalid argument".
const char* StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns this error with the line " - While <what>." added; OK stays OK.
  Status While(const std::string& what) && {
    if (!ok()) message_ += "\n - While " + what + ".";
    return std::move(*this);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// A T, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<1>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Status status) : state_(std::in_place_index<0>, std::move(status)) {}  // NOLINT

  bool ok() const { return state_.index() == 1; }
  // The error, or OK.
  Status status() const& { return ok() ? Status() : std::get<0>(state_); }
  Status status() && { return ok() ? Status() : std::get<0>(std::move(state_)); }

  // The value; only valid when ok().
  T& operator*() { return *std::get_if<1>(&state_); }
  const T& operator*() const { return *std::get_if<1>(&state_); }
  T* operator->() { return std::get_if<1>(&state_); }
  const T* operator->() const { return std::get_if<1>(&state_); }
  T value() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace spirloom

// Returns from the calling function with the error, if `expression` (a Status) is one.
#define SPIRLOOM_TRY(expression)                                                  \
  do {                                                                            \
    if (::spirloom::Status spirloom_status = (expression); !spirloom_status.ok()) \
      return spirloom_status;                                                     \
  } while (false)

#define SPIRLOOM_CONCAT_INNER(a, b) a##b
#define SPIRLOOM_CONCAT(a, b) SPIRLOOM_CONCAT_INNER(a, b)

// Assigns the value of `expression` (a Result<T>) to `target`, or returns its error.
#define SPIRLOOM_TRY_ASSIGN(target, expression) \
  SPIRLOOM_TRY_ASSIGN_IMPL(SPIRLOOM_CONCAT(spirloom_result_, __LINE__), target, expression)
#define SPIRLOOM_TRY_ASSIGN_IMPL(result, target, expression) \
  auto result = (expression);                                \
  if (!result.ok()) return std::move(result).status();       \
  target = std::move(result).value()

#endif  // SPIRLOOM_STATUS_H_
