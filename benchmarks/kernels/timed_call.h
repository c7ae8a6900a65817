// One call of an operator, loaded to be run and timed many times.
#ifndef SPIRLOOM_BENCHMARKS_KERNELS_TIMED_CALL_H_
#define SPIRLOOM_BENCHMARKS_KERNELS_TIMED_CALL_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/cases_generated.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::bench {

// What a run takes, in seconds.
struct Cost {
  double gpu;  // from the first dispatch's start to the last one's end
  double cpu;  // of all threads of the process, copying inputs and outputs included
};

// Owns a loaded case. Its inputs are the case's, which must outlive it.
class TimedCall {
 public:
  // Loads the case and runs it once, so that the driver has compiled what it compiles. Fails if the
  // case's variant is not what was dispatched.
  static Result<TimedCall> Create(const Runtime& runtime, const schema::Case& test);

  // Runs once.
  Result<Cost> Run();

 private:
  TimedCall(Model model, const schema::Case& test);
  Status CheckDispatched(const std::string& variant) const;

  Model model_;
  std::vector<std::span<const std::byte>> inputs_;
  std::vector<std::vector<std::byte>> outputs_;
  std::vector<std::span<std::byte>> output_spans_;
};

}  // namespace spirloom::bench

#endif  // SPIRLOOM_BENCHMARKS_KERNELS_TIMED_CALL_H_
