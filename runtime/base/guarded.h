// The boundary at which exceptions end: the standard library's, for want of memory or threads.
// Inside, errors are values all the same.
#ifndef SPIRLOOM_RUNTIME_BASE_GUARDED_H_
#define SPIRLOOM_RUNTIME_BASE_GUARDED_H_

#include "spirloom/status.h"

namespace spirloom {

// What is being handled, as a Status: kOutOfMemory for std::bad_alloc and std::length_error,
// kInternal for the rest. Only in a handler.
Status StatusOfException() noexcept;

// What `function`, which returns a Status or Result, returns, or the Status of what it throws. All
// that can be called from outside, and allocates, is in one of these.
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
