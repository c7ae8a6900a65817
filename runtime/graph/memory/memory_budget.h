#ifndef SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_BUDGET_H_
#define SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_BUDGET_H_

#include <cassert>
#include <cstdint>

#include "spirloom/status.h"

namespace spirloom::graph {

// How much device memory a model may take, and what it has.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t most) : most_(most) {}

  // Counts `bytes` more. Fails with kOutOfMemory, naming the numbers and the option that raises the
  // limit, if they are too many, and counts nothing.
  Status Take(uint64_t bytes);
  void GiveBack(uint64_t bytes) {
    assert(bytes <= taken_);
    taken_ -= bytes;
  }

 private:
  const uint64_t most_;
  uint64_t taken_ = 0;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_BUDGET_H_
