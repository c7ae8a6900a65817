#ifndef SPIRLOOM_RUNTIME_EAGER_DESCRIPTOR_ARENA_H_
#define SPIRLOOM_RUNTIME_EAGER_DESCRIPTOR_ARENA_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "runtime/eager/command_ring.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/descriptors.h"
#include "runtime/vulkan/pipeline.h"
#include "spirloom/status.h"

namespace spirloom::eager {

// A part of a buffer; `offset` and `size` are multiples of 16.
struct BufferPart {
  const vulkan::Buffer* buffer;
  uint64_t offset;
  uint64_t size;
};

// Descriptor sets of commands. Owns their pools and buffer views, which are destroyed when the
// commands have completed; the device must have finished when the arena is destroyed.
class DescriptorArena {
 public:
  DescriptorArena(const vulkan::Device& device, const CommandRing& ring)
      : device_(device), ring_(ring) {}

  // A descriptor set for the next command of the ring: binding i of the pipeline is parts[i].
  Result<VkDescriptorSet> Make(const vulkan::ComputePipeline& pipeline,
                               std::span<const BufferPart> parts);

 private:
  // A pool, the numbers of descriptors that it can still allocate, and the last command that uses
  // one of its sets.
  struct Chunk {
    vulkan::DescriptorPool pool;
    vulkan::DescriptorCounts left;
    std::vector<vulkan::BufferView> views = {};
    uint64_t last = 0;
  };

  Status NextChunk(const vulkan::DescriptorCounts& required);

  const vulkan::Device& device_;
  const CommandRing& ring_;
  std::optional<Chunk> current_;
  std::deque<Chunk> filled_;
};

}  // namespace spirloom::eager

#endif  // SPIRLOOM_RUNTIME_EAGER_DESCRIPTOR_ARENA_H_
