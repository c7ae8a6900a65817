// What the application passed for the whole runtime to use.
#ifndef SPIRLOOM_RUNTIME_BASE_HOST_H_
#define SPIRLOOM_RUNTIME_BASE_HOST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>

#include "runtime/base/text.h"
#include "spirloom/log.h"
#include "spirloom/status.h"

namespace spirloom {

// A value; RuntimeOptions says what the members mean.
struct Host {
  LogCallback log = {};
  size_t threads = 0;
  std::function<void(size_t, const std::function<void(size_t)>&)> parallel_for = {};
  uint64_t memory_limit = 0;

  // Passes on a message, e.g. Say(LogLevel::kInfo, {"The device is '", name, "'."}); makes none
  // when nobody listens. Thread-safe.
  void Say(LogLevel level, std::initializer_list<TextPiece> message) const;
  // Calls work(i) for each i < count, on threads of the application's or on up to `most_threads` of
  // our own; on the caller's if count is 1. Returns the first failure, when all are done.
  Status ParallelFor(size_t count, const std::function<Status(size_t)>& work,
                     size_t most_threads = SIZE_MAX) const;
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_HOST_H_
