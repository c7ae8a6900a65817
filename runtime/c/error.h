// Error handling of the C functions: a status, an optional error object, no exceptions.
#ifndef SPIRLOOM_RUNTIME_C_ERROR_H_
#define SPIRLOOM_RUNTIME_C_ERROR_H_

#include <exception>
#include <initializer_list>
#include <new>

#include "spirloom/spirloom.h"
#include "spirloom/status.h"

namespace spirloom::c {

// Stores the error, if any, in *error and returns its status. If there is no memory for the object,
// *error is a static object.
spirloom_status Report(Status status, spirloom_error** error) noexcept;

// Report() for exceptions.
spirloom_status ReportOutOfMemory(spirloom_error** error) noexcept;
spirloom_status ReportException(const char* what, spirloom_error** error) noexcept;

// Report() for the result or the exception of `body`, which returns a Status. Wraps the body of
// each function that can fail.
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
    return ReportException("unknown type", error);
  }
}

// A pointer argument with its name.
struct Argument {
  const char* name;
  const void* value;
};

// Fails with kInvalidArgument, the name and `function` if an argument is null.
Status CheckPointers(const char* function, std::initializer_list<Argument> arguments);

// Fails with kInvalidArgument unless `count`, of inputs, outputs or shapes, is that of the model.
// `what` is the singular. Call it before the array is read.
Status CheckCount(const char* what, size_t count, size_t expected);

// Fails with kInvalidArgument if the array is null and `count` is not 0.
Status CheckArray(const char* name, const void* array, size_t count);

// Fails with kInvalidArgument if the bytes of element `i` of array `name` are null and not empty.
Status CheckBytes(const char* name, size_t i, const void* data, size_t size);

// Fails with kInvalidArgument unless i < count. `what` is the plural, e.g. "inputs".
Status CheckIndex(const char* what, size_t i, size_t count);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_ERROR_H_
