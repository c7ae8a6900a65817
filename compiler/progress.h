// A line on stderr that says how far a long build is.
#ifndef SPIRLOOM_COMPILER_PROGRESS_H_
#define SPIRLOOM_COMPILER_PROGRESS_H_

#include <chrono>
#include <cstddef>
#include <mutex>

namespace spirloom::compiler {

// Silent for the first second. Then one line, rewritten in place on a terminal and repeated every
// few seconds elsewhere. The destructor clears the line on a terminal. Thread-safe.
class Progress {
 public:
  Progress(size_t total, bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // One more variant is done.
  void Advance();

 private:
  using Clock = std::chrono::steady_clock;

  const size_t total_;
  const bool enabled_;
  const bool terminal_;
  std::mutex mutex_;
  size_t done_ = 0;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_PROGRESS_H_
