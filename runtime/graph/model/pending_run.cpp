#include "spirloom/pending_run.h"

#include <algorithm>
#include <utility>

#include "runtime/base/guarded.h"
#include "runtime/graph/model/execution_context.h"

namespace spirloom {

PendingRun::PendingRun(std::shared_ptr<internal::ExecutionContext> context, uint64_t run)
    : context_(std::move(context)), run_(run) {}

PendingRun::PendingRun(PendingRun&&) noexcept = default;

PendingRun& PendingRun::operator=(PendingRun&& other) noexcept {
  PendingRun moved(std::move(other));
  std::swap(context_, moved.context_);
  std::swap(run_, moved.run_);
  return *this;
}

// The destructor cannot report errors.
PendingRun::~PendingRun() {
  if (context_ != nullptr) (void)Wait();
}

Result<bool> PendingRun::IsDone() const {
  return Guarded([&]() -> Result<bool> {
    if (run_ <= context_->finished) return true;
    return context_->last_fence().IsSignaled();
  });
}

Result<bool> PendingRun::WaitFor(std::chrono::nanoseconds timeout) {
  return Guarded([&]() -> Result<bool> {
    if (run_ > context_->finished) {
      const auto limit = static_cast<uint64_t>(std::max<int64_t>(timeout.count(), 0));
      SPIRLOOM_TRY_ASSIGN(const bool ended, context_->last_fence().WaitFor(limit));
      if (!ended) return false;
    }
    SPIRLOOM_TRY(Wait());
    return true;
  });
}

Status PendingRun::Wait() {
  return Guarded([&] { return internal::FinishRun(*context_, run_); });
}

Status PendingRun::Wait(std::span<const std::span<std::byte>> outputs) {
  return Guarded([&] { return internal::FinishRun(*context_, run_, outputs); });
}

}  // namespace spirloom
