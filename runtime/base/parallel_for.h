// Loops on several threads.
#ifndef SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
#define SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

namespace spirloom {

// Transfers the first exception of several threads to one thread.
class FirstException {
 public:
  // Calls `work` and returns true if it did not throw. Thread-safe.
  template <typename Work>
  bool Try(const Work& work) noexcept {
    try {
      work();
      return true;
    } catch (...) {
      Capture(std::current_exception());
      return false;
    }
  }
  void Rethrow() const;

 private:
  void Capture(std::exception_ptr exception) noexcept;

  std::mutex mutex_;
  std::exception_ptr first_;
};

// Calls work(i, thread) once for each i < count, with increasing i, on up to `threads` threads
// (0: one per core), and returns after all calls. The caller's thread has index 0. If the system
// does not provide more threads, fewer are used. If `work` throws, the remaining calls are skipped
// and the first exception is rethrown.
void ParallelFor(size_t count, size_t threads,
                 const std::function<void(size_t i, size_t thread)>& work);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
