// Compile times for --time-trace: a Chrome trace (chrome://tracing, Perfetto) with an event per
// variant and phase.
#ifndef SPIRLOOM_COMPILER_DRIVER_TIME_TRACE_H_
#define SPIRLOOM_COMPILER_DRIVER_TIME_TRACE_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace spirloom::compiler {

// Collects spans. Each thread has its own list, so recording needs no lock.
class TimeTrace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TimeTrace(size_t threads) : start_(Clock::now()), spans_(threads) {}

  // Records [begin, now) on `thread`. `phase` must outlive the trace.
  void Record(size_t thread, const char* phase, const std::string& variant,
              Clock::time_point begin);
  // Returns {"traceEvents": [...]} with complete events, in microseconds; "tid" is the thread.
  std::string ToJson() const;
  // Returns a table of the total time and share of each phase, and of the slowest variants, in ms.
  std::string Summary() const;

 private:
  struct Span {
    const char* phase;
    std::string variant;
    Clock::time_point begin;
    Clock::time_point end;
  };

  Clock::time_point start_;
  std::vector<std::vector<Span>> spans_;  // by thread
};

// Records a span from construction to destruction. `trace` may be null.
class PhaseTimer {
 public:
  PhaseTimer(TimeTrace* trace, size_t thread, const char* phase, const std::string& variant)
      : trace_(trace), thread_(thread), phase_(phase), variant_(variant) {
    if (trace_ != nullptr) begin_ = TimeTrace::Clock::now();
  }
  ~PhaseTimer() {
    if (trace_ != nullptr) trace_->Record(thread_, phase_, variant_, begin_);
  }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  TimeTrace* trace_;
  size_t thread_;
  const char* phase_;
  const std::string& variant_;
  TimeTrace::Clock::time_point begin_;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_DRIVER_TIME_TRACE_H_
