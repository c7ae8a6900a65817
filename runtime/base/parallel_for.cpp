#include "runtime/base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace spirloom {
namespace {

class Work {
 public:
  Work(size_t count, const std::function<void(size_t, size_t)>& function)
      : count_(count), function_(function) {}

  // Until nothing is left.
  void Do(size_t thread) noexcept {
    try {
      for (size_t i = next_++; i < count_; i = next_++) function_(i, thread);
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
      next_ = count_;
    }
  }

  void RethrowFailure() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  const size_t count_;
  const std::function<void(size_t, size_t)>& function_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

// Starts threads 1 to `threads` - 1, or as many of them as the system gives.
void StartHelpers(Work& work, size_t threads, std::vector<std::jthread>& helpers) {
  try {
    for (size_t thread = 1; thread < threads; ++thread) {
      helpers.emplace_back([&work, thread] { work.Do(thread); });
    }
  } catch (const std::system_error&) {  // no more threads
  } catch (const std::bad_alloc&) {     // no memory for them
  }
}

}  // namespace

void ParallelFor(size_t count, size_t threads,
                 const std::function<void(size_t, size_t)>& function) {
  Work work(count, function);
  {
    std::vector<std::jthread> helpers;
    StartHelpers(work, std::min(threads, count), helpers);
    work.Do(/*thread=*/0);
  }
  work.RethrowFailure();
}

size_t AllCores() { return std::thread::hardware_concurrency(); }

}  // namespace spirloom
