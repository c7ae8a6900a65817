#include "runtime/graph/memory/memory_arena.h"

#include <cassert>
#include <utility>

namespace spirloom::graph {
namespace {

struct ReservedMemory {
  ReservedMemory(Reservation used_reservation, vulkan::DeviceMemory used_memory)
      : reservation(std::move(used_reservation)), memory(std::move(used_memory)) {}
  Reservation reservation;
  vulkan::DeviceMemory memory;  // destroyed first
};

}  // namespace

Result<std::shared_ptr<vulkan::DeviceMemory>> MemoryArena::Block(uint32_t type, uint32_t type_bits,
                                                                 size_t index, uint64_t size) {
  std::shared_ptr<vulkan::DeviceMemory>& block = blocks_[{type, index}];
  if (block != nullptr && block->size() >= size && (type_bits >> block->type() & 1) != 0) {
    return block;
  }
  SPIRLOOM_TRY(budget_->Reserve(size));
  Reservation reservation(budget_, size);
  SPIRLOOM_TRY_ASSIGN(vulkan::DeviceMemory memory,
                      vulkan::DeviceMemory::Create(*device_, size, type_bits, use_));
  auto reserved = std::make_shared<ReservedMemory>(std::move(reservation), std::move(memory));
  vulkan::DeviceMemory* const address = &reserved->memory;
  block = {std::move(reserved), address};
  assert((type_bits >> block->type() & 1) != 0);
  return block;
}

void MemoryArena::DropUnused() {
  std::erase_if(blocks_, [](const auto& entry) { return entry.second.use_count() <= 1; });
}

}  // namespace spirloom::graph
