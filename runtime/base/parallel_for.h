// Work on several cores.
#ifndef SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
#define SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

namespace spirloom {

// Carries the first exception of several threads to one of them.
class FirstException {
 public:
  // Calls `work`; whether that threw nothing. Thread-safe.
  template <typename Work>
  bool Try(const Work& work) noexcept {
    try {
      work();
      return true;
    } catch (...) {
      Keep(std::current_exception());
      return false;
    }
  }
  void Rethrow() const;

 private:
  void Keep(std::exception_ptr exception) noexcept;

  std::mutex mutex_;
  std::exception_ptr first_;
};

// Calls work(i, thread) once for each i < count, on up to `threads` threads (the caller's is thread
// 0; 0: one for each core), and returns when all are done. Indices are handed out in order. With
// fewer threads, in the end the caller's alone, where the system gives no more. What `work` throws
// comes out of here when the threads have ended, the first of it, and the rest is left undone.
void ParallelFor(size_t count, size_t threads,
                 const std::function<void(size_t i, size_t thread)>& work);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
