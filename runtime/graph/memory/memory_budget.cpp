#include "runtime/graph/memory/memory_budget.h"

#include <algorithm>
#include <cassert>

#include "runtime/base/error.h"

namespace spirloom::graph {

uint64_t MemoryBudget::TotalLimit() const {
  return limit_ > UINT64_MAX / contexts_ ? UINT64_MAX : limit_ * contexts_;
}

Status MemoryBudget::Reserve(uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  const uint64_t limit = TotalLimit();
  if (reserved_ <= limit && bytes <= limit - reserved_) {
    reserved_ += bytes;
    return Status();
  }
  return Error(
      StatusCode::kOutOfMemory,
      "Device memory of the model ({} bytes, {} more requested) exceeds the limit ({} bytes), "
      "which depends on the file size. Raise ModelOptions::max_device_bytes for trusted files.",
      reserved_, bytes, limit);
}

void MemoryBudget::Release(uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  assert(bytes <= reserved_);
  reserved_ -= bytes;
}

bool MemoryBudget::is_unused() {
  const std::scoped_lock lock(mutex_);
  return reserved_ == 0;
}

uint64_t MemoryBudget::remaining() {
  const std::scoped_lock lock(mutex_);
  const uint64_t limit = TotalLimit();
  return limit - std::min(limit, reserved_);
}

void MemoryBudget::AddContext() {
  const std::scoped_lock lock(mutex_);
  ++contexts_;
}

void MemoryBudget::RemoveContext() {
  const std::scoped_lock lock(mutex_);
  assert(contexts_ > 1);
  --contexts_;
}

}  // namespace spirloom::graph
