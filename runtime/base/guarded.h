// Converts exceptions of the standard library (out of memory, no more threads) to errors at the
// boundary of the public API. Spirloom's own errors are values.
#ifndef SPIRLOOM_RUNTIME_BASE_GUARDED_H_
#define SPIRLOOM_RUNTIME_BASE_GUARDED_H_

#include "spirloom/status.h"

namespace spirloom {

// The exception being handled as a Status: kOutOfMemory for std::bad_alloc and std::length_error,
// otherwise kInternal. Call it only in a handler.
Status StatusOfException() noexcept;

// Returns the result of `function` (a Status or Result), or the Status of an exception. Wraps all
// public functions that allocate and return a Status or Result. Those that return a list, e.g.
// Runtime::operator_names(), throw std::bad_alloc.
template <typename Function>
auto Guarded(const Function& function) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (...) {
    return StatusOfException();
  }
}

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_GUARDED_H_
