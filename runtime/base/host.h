// Services of the host application for the runtime.
#ifndef SPIRLOOM_RUNTIME_BASE_HOST_H_
#define SPIRLOOM_RUNTIME_BASE_HOST_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/base/text.h"
#include "spirloom/log.h"
#include "spirloom/status.h"

namespace spirloom {

// See RuntimeOptions for the members. Copyable.
struct Host {
  LogCallback log = {};
  size_t threads = 0;
  std::function<void(size_t, const std::function<void(size_t)>&)> parallel_for = {};
  uint64_t memory_limit = 0;
  uint64_t max_submission_ns = 0;

  // Logs a message, e.g. Log(LogLevel::kInfo, "The device is '{}'.", name); does not build the text
  // without a callback. Thread-safe.
  template <typename... Values>
  SPIRLOOM_ALWAYS_INLINE void Log(LogLevel level, FormatString<sizeof...(Values)> format,
                                  const Values&... values) const {
    LogValues(level, format.text(), TypesOf<Values...>(), ToArgument(values)...);
  }
  void LogValues(LogLevel level, const char* format, uint64_t types, ...) const;
  // Calls work(i) for each i < count on the application's threads, or on up to `max_threads` own
  // threads; on the caller's if count is 1. Returns after all calls, with the first failure.
  Status ParallelFor(size_t count, const std::function<Status(size_t)>& work,
                     size_t max_threads = SIZE_MAX) const;
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_HOST_H_
