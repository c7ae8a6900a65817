// How the C functions fail: a status, an error object where the caller wants one, nothing thrown.
#ifndef SPIRLOOM_RUNTIME_C_ERROR_H_
#define SPIRLOOM_RUNTIME_C_ERROR_H_

#include <exception>
#include <initializer_list>
#include <new>

#include "spirloom/spirloom.h"
#include "spirloom/status.h"

namespace spirloom::c {

// Gives the caller the error, if there is one, and returns its number. Without memory for the
// object, the caller gets one that says so and is never freed.
spirloom_status Report(Status status, spirloom_error** error) noexcept;

// Report() of exceptions.
spirloom_status ReportOutOfMemory(spirloom_error** error) noexcept;
spirloom_status ReportException(const char* what, spirloom_error** error) noexcept;

// Report() of what `body`, which returns a Status, returns or throws: the only way out of a
// function that can fail.
template <typename Body>
spirloom_status Guarded(spirloom_error** error, const Body& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    return Report(body(), error);
  } catch (const std::bad_alloc&) {
    return ReportOutOfMemory(error);
  } catch (const std::exception& exception) {
    return ReportException(exception.what(), error);
  } catch (...) {
    return ReportException("of a type of its own", error);
  }
}

// A pointer that a function was given, and its name there.
struct Argument {
  const char* name;
  const void* value;
};

// Fails with kInvalidArgument, naming it and `function`, for the first that is null.
Status CheckPointers(const char* function, std::initializer_list<Argument> arguments);

// Fails with kInvalidArgument for an array that is null and has elements.
Status CheckArray(const char* name, const void* array, size_t count);

// The same for the `i`-th of several arrays of bytes.
Status CheckBytes(const char* name, size_t i, const void* data, size_t size);

// Fails with kInvalidArgument unless i < count. `what` is the plural, e.g. "inputs".
Status CheckIndex(const char* what, size_t i, size_t count);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_ERROR_H_
