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

// Memory that several stores of tensors use in turn, never at the same time: what was planned for
// the greatest sizes of a graph serves the smaller ones.
class MemoryArena {
 public:
  // Its blocks count in `budget` for as long as they live.
  MemoryArena(const vulkan::Device& device, vulkan::MemoryUse use,
              std::shared_ptr<MemoryBudget> budget)
      : device_(&device), use_(use), budget_(std::move(budget)) {}

  vulkan::MemoryUse use() const { return use_; }

  // Block number `index` among those for this memory type, of at least `size` bytes; of another of
  // the types in `type_bits` where that one's heap is full. One that is too small, or of no such
  // type, is replaced, and lives on while somebody holds it.
  Result<std::shared_ptr<vulkan::DeviceMemory>> Block(uint32_t type, uint32_t type_bits,
                                                      size_t index, uint64_t size);
  // Frees what nobody holds.
  void DropUnused();

 private:
  const vulkan::Device* device_;
  vulkan::MemoryUse use_;
  std::shared_ptr<MemoryBudget> budget_;
  std::map<std::pair<uint32_t, size_t>, std::shared_ptr<vulkan::DeviceMemory>> blocks_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_MEMORY_ARENA_H_
