#include "compiler/driver/progress.h"

#include <unistd.h>

#include <cstdio>

namespace spirloom::compiler {
namespace {

constexpr std::chrono::milliseconds kQuietTime(1000);
constexpr std::chrono::milliseconds kTerminalInterval(100);
constexpr std::chrono::milliseconds kLogInterval(5000);

}  // namespace

Progress::Progress(size_t total, bool enabled)
    : total_(total),
      enabled_(enabled),
      terminal_(::isatty(STDERR_FILENO) != 0),
      next_(Clock::now() + kQuietTime) {}

Progress::~Progress() {
  if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::Advance() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++done_;
  const Clock::time_point now = Clock::now();
  if (!enabled_ || now < next_ || done_ == total_) return;
  next_ = now + (terminal_ ? kTerminalInterval : kLogInterval);
  shown_ = true;
  std::fprintf(
      stderr,
      terminal_ ? "\rCompiling shaders: %zu of %zu\033[K" : "Compiling shaders: %zu of %zu\n",
      done_, total_);
  std::fflush(stderr);
}

}  // namespace spirloom::compiler
