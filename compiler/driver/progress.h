// Reports the progress of a long build on stderr.
#ifndef SPIRLOOM_COMPILER_DRIVER_PROGRESS_H_
#define SPIRLOOM_COMPILER_DRIVER_PROGRESS_H_

#include <chrono>
#include <cstddef>
#include <mutex>

namespace spirloom::compiler {

// Prints nothing during the first second. Then updates one line on a terminal; otherwise prints a
// line every five seconds. The destructor clears the line on a terminal. Thread-safe.
class Progress {
 public:
  Progress(size_t total, bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Counts one completed variant.
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

#endif  // SPIRLOOM_COMPILER_DRIVER_PROGRESS_H_
