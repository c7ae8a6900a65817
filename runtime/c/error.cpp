#include "runtime/c/error.h"

#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/c/enums.h"

// `message` is that of `status`, or a string literal.
struct spirloom_error {
  spirloom_status code;
  const char* message;
  spirloom::Status status;
};

namespace spirloom::c {
namespace {

// Returned if there is no memory for an error object; owns nothing.
constinit spirloom_error no_memory{SPIRLOOM_OUT_OF_MEMORY, "Host memory is exhausted.", {}};

}  // namespace

spirloom_status Report(Status status, spirloom_error** error) noexcept {
  const spirloom_status code = ToC(status.code());
  if (error == nullptr || status.ok()) return code;
  auto* created = new (std::nothrow) spirloom_error{code, "", std::move(status)};
  if (created == nullptr) return ReportOutOfMemory(error);
  created->message = created->status.message().c_str();
  *error = created;
  return code;
}

spirloom_status ReportOutOfMemory(spirloom_error** error) noexcept {
  if (error != nullptr) *error = &no_memory;
  return SPIRLOOM_OUT_OF_MEMORY;
}

spirloom_status ReportException(const char* what, spirloom_error** error) noexcept {
  try {
    return Report(Error(StatusCode::kInternal, "An exception was thrown: {}.", what), error);
  } catch (...) {
    return ReportOutOfMemory(error);
  }
}

Status CheckPointers(const char* function, std::initializer_list<Argument> arguments) {
  for (const Argument& argument : arguments) {
    if (argument.value != nullptr) continue;
    return Error(StatusCode::kInvalidArgument, "The argument `{}` of {}() is NULL.", argument.name,
                 function);
  }
  return Status();
}

Status CheckCount(const char* what, size_t count, size_t expected) {
  if (count == expected) return Status();
  return Error(StatusCode::kInvalidArgument, "Number of {}s is {}; the model has {}{}", what, count,
               expected, what == std::string_view("shape") ? " inputs." : ".");
}

Status CheckArray(const char* name, const void* array, size_t count) {
  if (array != nullptr || count == 0) return Status();
  return Error(StatusCode::kInvalidArgument, "`{}` is NULL; expected an array of {} elements.",
               name, count);
}

Status CheckBytes(const char* name, size_t i, const void* data, size_t size) {
  if (data != nullptr || size == 0) return Status();
  return Error(StatusCode::kInvalidArgument, "`{}[{}].data` is NULL; expected {} bytes.", name, i,
               size);
}

Status CheckIndex(const char* what, size_t i, size_t count) {
  if (i < count) return Status();
  return Error(StatusCode::kInvalidArgument, "Index {} is out of range; the number of {} is {}.", i,
               what, count);
}

}  // namespace spirloom::c

void spirloom_error_destroy(spirloom_error* error) {
  if (error != &spirloom::c::no_memory) delete error;
}

spirloom_status spirloom_error_status(const spirloom_error* error) {
  return error == nullptr ? SPIRLOOM_OK : error->code;
}

const char* spirloom_error_message(const spirloom_error* error) {
  return error == nullptr ? "" : error->message;
}

const char* spirloom_status_name(spirloom_status status) {
  const auto code = spirloom::c::FromC(status);
  return code ? spirloom::StatusCodeName(*code) : "unknown";
}
