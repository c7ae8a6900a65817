#include "runtime/graph/memory/memory_arena.h"

namespace spirloom::graph {

Result<std::shared_ptr<vulkan::DeviceMemory>> MemoryArena::Block(uint32_t type, size_t index,
                                                                 uint64_t size) {
  std::shared_ptr<vulkan::DeviceMemory>& block = blocks_[{type, index}];
  if (block != nullptr && block->size() >= size) return block;
  SPIRLOOM_TRY_ASSIGN(vulkan::DeviceMemory memory,
                      vulkan::DeviceMemory::Create(*device_, size, uint32_t{1} << type, use_));
  block = std::make_shared<vulkan::DeviceMemory>(std::move(memory));
  return block;
}

}  // namespace spirloom::graph
