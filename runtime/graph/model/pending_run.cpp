#include "spirloom/pending_run.h"

#include <algorithm>
#include <utility>

#include "runtime/base/guarded.h"
#include "runtime/graph/model/model_state.h"

namespace spirloom {

PendingRun::PendingRun(std::shared_ptr<internal::ModelState> state, uint64_t run)
    : state_(std::move(state)), run_(run) {}

PendingRun::PendingRun(PendingRun&&) noexcept = default;

PendingRun& PendingRun::operator=(PendingRun&& other) noexcept {
  PendingRun moved(std::move(other));
  std::swap(state_, moved.state_);
  std::swap(run_, moved.run_);
  return *this;
}

// The destructor cannot report errors.
PendingRun::~PendingRun() {
  if (state_ != nullptr) (void)Wait();
}

Result<bool> PendingRun::IsDone() const {
  return Guarded([&]() -> Result<bool> {
    if (run_ <= state_->finished) return true;
    return state_->last_fence().IsSignaled();
  });
}

Result<bool> PendingRun::WaitFor(std::chrono::nanoseconds timeout) {
  return Guarded([&]() -> Result<bool> {
    if (run_ > state_->finished) {
      const auto limit = static_cast<uint64_t>(std::max<int64_t>(timeout.count(), 0));
      SPIRLOOM_TRY_ASSIGN(const bool ended, state_->last_fence().WaitFor(limit));
      if (!ended) return false;
    }
    SPIRLOOM_TRY(Wait());
    return true;
  });
}

Status PendingRun::Wait() {
  return Guarded([&] { return internal::FinishRun(*state_, run_); });
}

Status PendingRun::Wait(std::span<const std::span<std::byte>> outputs) {
  return Guarded([&] { return internal::FinishRun(*state_, run_, outputs); });
}

}  // namespace spirloom
