#ifndef SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_BUDGET_H_
#define SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_BUDGET_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "spirloom/status.h"

namespace spirloom::graph {

// Limit and current size of the device memory of a model with its contexts. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}

  // Reserves `bytes`. If the limit would be exceeded, fails with kOutOfMemory and reserves nothing.
  Status Reserve(uint64_t bytes);
  void Release(uint64_t bytes);
  // Whether no bytes are reserved.
  bool is_unused();
  // Bytes that can be reserved.
  uint64_t remaining();

  // The limit is for one context. Each call of AddContext(), until RemoveContext(), raises it by
  // the limit of the constructor.
  void AddContext();
  void RemoveContext();

 private:
  uint64_t TotalLimit() const;

  const uint64_t limit_;
  std::mutex mutex_;
  uint64_t contexts_ = 1;
  uint64_t reserved_ = 0;
};

// Reserved bytes of a budget, released by the destructor.
class Reservation {
 public:
  Reservation(std::shared_ptr<MemoryBudget> budget, uint64_t bytes)
      : budget_(std::move(budget)), bytes_(bytes) {}
  Reservation(Reservation&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(other.bytes_) {}
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() {
    if (budget_ != nullptr) budget_->Release(bytes_);
  }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  uint64_t bytes_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_BUDGET_H_
