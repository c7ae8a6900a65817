// One operator call, loaded once and timed repeatedly.
#ifndef SPIRLOOM_BENCHMARKS_KERNELS_TIMED_CALL_H_
#define SPIRLOOM_BENCHMARKS_KERNELS_TIMED_CALL_H_

#include <string>
#include <utility>

#include "schema/cases_generated.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::bench {

// The time of a run, in seconds.
struct Cost {
  double gpu;  // from the start of the first dispatch to the end of the last one
  double cpu;  // of all threads of the process
};

// Owns the model of a case. Its inputs are those of the case, or random values if the case has
// none.
class TimedCall {
 public:
  // Loads the case and runs it once as warm-up. Fails if the run does not dispatch the variant that
  // the case names.
  static Result<TimedCall> Create(const Runtime& runtime, const schema::Case& test);

  // The dispatched variants, in order, separated by spaces.
  const std::string& kernels() const { return kernels_; }

  // Runs once.
  Result<Cost> Run();

 private:
  explicit TimedCall(Model model) : model_(std::move(model)) {}
  void FillInputs();
  Status RecordDispatched();
  Status CheckDispatched(const std::string& variant) const;

  Model model_;
  std::string kernels_;
};

}  // namespace spirloom::bench

#endif  // SPIRLOOM_BENCHMARKS_KERNELS_TIMED_CALL_H_
