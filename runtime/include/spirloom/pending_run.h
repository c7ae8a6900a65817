// PendingRun: a run of a model that was started and not waited for yet.
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
struct ModelState;
}

// A run that Model::Submit() started. Destroying it waits for the run's end; it keeps what it needs
// of the model alive. Counts as its model for thread safety.
class SPIRLOOM_API PendingRun {
 public:
  PendingRun(PendingRun&&) noexcept;
  PendingRun& operator=(PendingRun&&) noexcept;
  ~PendingRun();

  // Whether the run has ended, so that Wait() returns at once. Fails with kDeviceLost.
  Result<bool> IsDone() const;
  // Waits for the end; any number of times. Then OutputBytes() of the model hold the results, until
  // it runs again. Fails with kDeviceLost.
  Status Wait();
  // The same for at most `timeout` (rounded up to what the device can tell; 0 only looks). False
  // when the run has not ended by then; it goes on, and may be waited for again.
  Result<bool> WaitFor(std::chrono::nanoseconds timeout);
  // Wait(), and copies the results: outputs[i] receives exactly outputs()[i].size bytes (none of
  // an output that is bound to a buffer of the application's). Fails with
  // kInvalidArgument for other sizes, with kBusy when the model has run again meanwhile.
  Status Wait(std::span<const std::span<std::byte>> outputs);

 private:
  friend class Model;
  PendingRun(std::shared_ptr<internal::ModelState> state, uint64_t run);
  std::shared_ptr<internal::ModelState> state_;  // null after a move
  uint64_t run_ = 0;
};

}  // namespace spirloom

#endif  // SPIRLOOM_PENDING_RUN_H_
