#include "runtime/base/host.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/parallel_for.h"

namespace spirloom {

void Host::LogValues(LogLevel level, const char* format, uint64_t types, ...) const {
  if (!log) return;
  va_list values;
  va_start(values, types);
  log(level, FormatList(format, types, values));
  va_end(values);
}

Status Host::ParallelFor(size_t count, const std::function<Status(size_t)>& work,
                         size_t max_threads) const {
  if (count == 1) return work(0);
  std::mutex mutex;
  Status first;
  FirstException exception;  // exceptions must not propagate through the application
  const auto call = [&](size_t i) {
    exception.Try([&] {
      Status status = work(i);
      const std::scoped_lock lock(mutex);
      if (first.ok()) first = std::move(status);
    });
  };
  if (parallel_for) {
    parallel_for(count, std::ref(call));
  } else {
    const size_t count_limit = threads == 0 ? std::thread::hardware_concurrency() : threads;
    spirloom::ParallelFor(count, std::min(count_limit, max_threads),
                          [&](size_t i, size_t /*thread*/) { call(i); });
  }
  exception.Rethrow();
  return first;
}

}  // namespace spirloom
