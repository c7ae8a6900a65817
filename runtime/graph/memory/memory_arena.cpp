#include "runtime/graph/memory/memory_arena.h"

#include <cassert>

namespace spirloom::graph {

Result<std::shared_ptr<vulkan::DeviceMemory>> MemoryArena::Block(uint32_t type, uint32_t type_bits,
                                                                 size_t index, uint64_t size) {
  std::shared_ptr<vulkan::DeviceMemory>& block = blocks_[{type, index}];
  if (block != nullptr && block->size() >= size && (type_bits >> block->type() & 1) != 0) {
    return block;
  }
  SPIRLOOM_TRY(budget_->Reserve(size));
  auto memory = vulkan::DeviceMemory::Create(*device_, size, type_bits, use_);
  if (!memory.ok()) {
    budget_->Release(size);
    return std::move(memory).status();
  }
  block = {new vulkan::DeviceMemory(std::move(memory).value()),
           [budget = budget_, size](vulkan::DeviceMemory* freed) {
             delete freed;
             budget->Release(size);
           }};
  assert((type_bits >> block->type() & 1) != 0);
  return block;
}

void MemoryArena::DropUnused() {
  std::erase_if(blocks_, [](const auto& entry) { return entry.second.use_count() <= 1; });
}

}  // namespace spirloom::graph
