// Runs operator test cases with guard bytes around every tensor, and as if the device were of the
// other kind: what specs do for GPUs is tried on CPUs, and the other way round.
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

// Owns a Runtime over some libraries, without validation: that has been done in the
// ordinary run of the case, and takes most of its time.
class GuardedRunner {
 public:
  // Fails without a device.
  static Result<GuardedRunner> Create(const std::vector<const ShaderLibrary*>& libraries);

  // Runs the case twice, with memory full of ones and full of zeros (guarded_memory.h). Fails if
  // the outputs of the two differ in a bit or differ from the expected ones, if a guard byte
  // changed, or if a texel's padding is not zero.
  Status Run(const schema::Case& test) const;

 private:
  GuardedRunner(Runtime runtime, std::unique_ptr<Scratch> scratch)
      : runtime_(std::move(runtime)), scratch_(std::move(scratch)) {}

  Runtime runtime_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_GUARDED_RUNNER_H_
