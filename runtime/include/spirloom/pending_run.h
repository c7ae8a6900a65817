// PendingRun: a run of a model that was submitted.
//
//   SPIRLOOM_TRY_ASSIGN(spirloom::PendingRun run, model.Submit(inputs));
//   // The host is free.
//   SPIRLOOM_TRY(run.Wait(outputs));
#ifndef SPIRLOOM_PENDING_RUN_H_
#define SPIRLOOM_PENDING_RUN_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "spirloom/export.h"
#include "spirloom/status.h"

namespace spirloom {

namespace internal {
struct ExecutionContext;
}

// A submitted run. It keeps the model's memory alive and shares the thread safety of its Model. The
// destructor waits for the end of the run.
class SPIRLOOM_API PendingRun {
 public:
  PendingRun(PendingRun&&) noexcept;
  PendingRun& operator=(PendingRun&&) noexcept;
  ~PendingRun();

  // Returns whether the run has ended. Fails with kDeviceLost.
  Result<bool> IsDone() const;
  // Waits for the end of the run; may be called repeatedly. Model::OutputBytes() then contains the
  // results until the next run. Fails with kDeviceLost.
  Status Wait();
  // Waits for at most `timeout`, rounded up to the resolution of the device; 0 polls. Returns
  // whether the run has ended. If not, the run continues and can be waited for again.
  Result<bool> WaitFor(std::chrono::nanoseconds timeout);
  // Waits, and copies the results: outputs[i] receives exactly outputs()[i].size bytes, no bytes of
  // a bound output. Fails with kInvalidArgument for other sizes, with kBusy if the model has run
  // again or was resized.
  Status Wait(std::span<const std::span<std::byte>> outputs);

 private:
  friend class Model;
  PendingRun(std::shared_ptr<internal::ExecutionContext> context, uint64_t run);
  std::shared_ptr<internal::ExecutionContext> context_;  // null after a move
  uint64_t run_ = 0;
};

}  // namespace spirloom

#endif  // SPIRLOOM_PENDING_RUN_H_
