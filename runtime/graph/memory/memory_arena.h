#ifndef SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_ARENA_H_
#define SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "runtime/graph/memory/memory_budget.h"
#include "runtime/vulkan/memory.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Memory that several tensor stores use in turn, never at the same time: memory allocated for the
// maximum shapes of a graph is reused for smaller shapes.
class MemoryArena {
 public:
  // Blocks are charged to `budget` until they are freed.
  MemoryArena(const vulkan::Device& device, vulkan::MemoryUse use,
              std::shared_ptr<MemoryBudget> budget)
      : device_(&device), use_(use), budget_(std::move(budget)) {}

  vulkan::MemoryUse use() const { return use_; }

  // Returns block `index` of this memory type, with at least `size` bytes. If the heap of `type` is
  // full, the block has another type of `type_bits`. A block that is too small or of an unsuitable
  // type is replaced; it is freed when its last owner releases it.
  Result<std::shared_ptr<vulkan::DeviceMemory>> Block(uint32_t type, uint32_t type_bits,
                                                      size_t index, uint64_t size);
  // Frees blocks without other owners.
  void DropUnused();

 private:
  const vulkan::Device* device_;
  vulkan::MemoryUse use_;
  std::shared_ptr<MemoryBudget> budget_;
  std::map<std::pair<uint32_t, size_t>, std::shared_ptr<vulkan::DeviceMemory>> blocks_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_ARENA_H_
