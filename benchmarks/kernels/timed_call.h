// One call of an operator, loaded to be run and timed many times.
#ifndef SPIRLOOM_BENCHMARKS_KERNELS_TIMED_CALL_H_
#define SPIRLOOM_BENCHMARKS_KERNELS_TIMED_CALL_H_

#include <string>
#include <utility>

#include "schema/cases_generated.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::bench {

// What a run takes, in seconds.
struct Cost {
  double gpu;  // from the first dispatch's start to the last one's end
  double cpu;  // of all threads of the process
};

// Owns a loaded case, its inputs in the memory that the device reads; made up where the case has
// none.
class TimedCall {
 public:
  // Loads the case and runs it once, so that the driver has compiled what it compiles. Fails if the
  // variant that the case names is not what was dispatched.
  static Result<TimedCall> Create(const Runtime& runtime, const schema::Case& test);

  // The variants that a run dispatches, in order, with blanks between.
  const std::string& kernels() const { return kernels_; }

  // Runs once.
  Result<Cost> Run();

 private:
  explicit TimedCall(Model model) : model_(std::move(model)) {}
  void MakeUpInputs();
  Status NoteDispatched();
  Status CheckDispatched(const std::string& variant) const;

  Model model_;
  std::string kernels_;
};

}  // namespace spirloom::bench

#endif  // SPIRLOOM_BENCHMARKS_KERNELS_TIMED_CALL_H_
