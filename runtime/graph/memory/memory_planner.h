// Places tensors of known lifetimes in few blocks of memory, so that those that are never needed at
// the same time share bytes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_PLANNER_H_
#define SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_PLANNER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::graph {

// A piece of memory needed from step `first` to step `last`, both included. `size` > 0 is in bytes,
// `alignment` is a power of two.
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
  std::vector<uint64_t> block_size;  // what to allocate
  uint64_t planned_bytes = 0;        // the sum of block_size
  uint64_t naive_bytes = 0;          // what the requests take one after another
  uint64_t live_bytes = 0;           // the most that is needed at one step: no plan takes less
};

// Places one request after another, each into the smallest gap that holds it: the largest first,
// and in other orders where that leaves bytes unused; takes time near to linear in the number of
// requests unless very many live at once, where smaller ones then share nothing. Blocks are at most
// `max_block` bytes. The result depends on the requests alone and never takes more than
// naive_bytes. Fails with kOutOfMemory for a request beyond `max_block`.
Result<MemoryPlan> PlanMemory(std::span<const MemoryRequest> requests, uint64_t max_block);

// The plan whose blocks `allocate` finds room for: where it fails with kOutOfMemory, as there may
// be room for several smaller blocks, one of half the size at most is tried, as long as that holds
// each request and is not small. Otherwise fails as `allocate` and PlanMemory() do.
Result<MemoryPlan> PlanAndAllocate(std::span<const MemoryRequest> requests, uint64_t max_block,
                                   const std::function<Status(const MemoryPlan&)>& allocate);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_PLANNER_H_
