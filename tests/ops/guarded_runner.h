// Runs operator test cases with guard bytes around all tensors, and with the property `is_cpu` of
// the device inverted, so that CPUs test the kernels for GPUs and vice versa.
#ifndef SPIRLOOM_TESTS_OPS_GUARDED_RUNNER_H_
#define SPIRLOOM_TESTS_OPS_GUARDED_RUNNER_H_

#include <memory>
#include <utility>
#include <vector>

#include "schema/cases_generated.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"
#include "tests/ops/guarded_memory.h"

namespace spirloom::testing {

// Owns a Runtime over several libraries, without validation: CaseRunner validates the same cases,
// and validation takes most of the time.
class GuardedRunner {
 public:
  // Fails without a device.
  static Result<GuardedRunner> Create(const std::vector<const ShaderLibrary*>& libraries);

  // Runs the case twice, with memory filled with ones and with zeros (guarded_memory.h). Fails if
  // the outputs of the runs are not bit-identical or differ from the expected ones, if a guard byte
  // changed, or if the padding of a texel is not zero.
  Status Run(const schema::Case& test) const;

 private:
  GuardedRunner(Runtime runtime, std::unique_ptr<Scratch> scratch)
      : runtime_(std::move(runtime)), scratch_(std::move(scratch)) {}

  Runtime runtime_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_GUARDED_RUNNER_H_
