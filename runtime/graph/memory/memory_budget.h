#ifndef SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_BUDGET_H_
#define SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_BUDGET_H_

#include <cassert>
#include <cstdint>

#include "spirloom/status.h"

namespace spirloom::graph {

// Limit and current size of the device memory of a model.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}

  // Reserves `bytes`. If the limit would be exceeded, fails with kOutOfMemory and reserves nothing.
  Status Reserve(uint64_t bytes);
  void Release(uint64_t bytes) {
    assert(bytes <= reserved_);
    reserved_ -= bytes;
  }

 private:
  const uint64_t limit_;
  uint64_t reserved_ = 0;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_BUDGET_H_
