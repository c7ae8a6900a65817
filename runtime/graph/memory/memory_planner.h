// Assigns offsets in memory blocks to tensors of known lifetimes. Tensors whose lifetimes do not
// overlap may share bytes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_PLANNER_H_
#define SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_PLANNER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::graph {

// A tensor that is live in the steps [first, last]. `size` > 0 and `alignment` (a power of two) are
// in bytes.
struct MemoryRequest {
  uint64_t size;
  uint64_t alignment;
  uint32_t first;
  uint32_t last;
};

struct MemorySlot {
  uint32_t block = 0;
  uint64_t offset = 0;  // a multiple of the request's alignment

  friend bool operator==(const MemorySlot&, const MemorySlot&) = default;
};

struct MemoryPlan {
  std::vector<MemorySlot> slots;     // one for each request
  std::vector<uint64_t> block_size;  // size of each block to allocate
  uint64_t planned_bytes = 0;        // the sum of block_size
  uint64_t naive_bytes = 0;          // bytes without sharing
  uint64_t live_bytes = 0;           // maximum over all steps of the live bytes: a lower bound
};

// Best-fit packing, largest requests first; other orders are tried if bytes stay unused. Time is
// nearly linear in the number of requests; if very many are live at once, small ones share no
// memory. Blocks have at most `max_block` bytes. Deterministic; planned_bytes <= naive_bytes. Fails
// with kOutOfMemory if a request exceeds `max_block`.
Result<MemoryPlan> PlanMemory(std::span<const MemoryRequest> requests, uint64_t max_block);

// Plans memory and calls `allocate`. If that fails with kOutOfMemory, retries with half the maximum
// block size (smaller blocks may fit fragmented memory), down to 16 MiB or the largest request.
// Fails as `allocate` and PlanMemory() do.
Result<MemoryPlan> PlanAndAllocate(std::span<const MemoryRequest> requests, uint64_t max_block,
                                   const std::function<Status(const MemoryPlan&)>& allocate);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_PLANNER_H_
