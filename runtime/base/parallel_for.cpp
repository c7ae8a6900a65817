#include "runtime/base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace spirloom {

void FirstException::Capture(std::exception_ptr exception) noexcept {
  const std::scoped_lock lock(mutex_);
  if (first_ == nullptr) first_ = std::move(exception);
}

void FirstException::Rethrow() const {
  if (first_ != nullptr) std::rethrow_exception(first_);
}

void ParallelFor(size_t count, size_t threads, const std::function<void(size_t, size_t)>& work) {
  std::atomic<size_t> next = 0;
  FirstException exception;
  const auto run = [&](size_t thread) {
    const bool done = exception.Try([&] {
      for (size_t i = next++; i < count; i = next++) work(i, thread);
    });
    if (!done) next = count;
  };
  if (threads == 0) threads = std::thread::hardware_concurrency();
  std::vector<std::thread> helpers;
  try {
    for (size_t i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(run, i);
  } catch (const std::system_error&) {  // no more threads: the existing ones do all work
  } catch (const std::bad_alloc&) {     // no memory for more threads
  }
  run(/*thread=*/0);
  for (std::thread& helper : helpers) helper.join();
  exception.Rethrow();
}

}  // namespace spirloom
