// Records dispatches into a command buffer, with the barriers between them.
#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_RECORDER_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <vector>

#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/record/barrier_tracker.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/descriptors.h"
#include "runtime/vulkan/timestamps.h"

namespace spirloom::graph {

// What dispatches refer to besides tensors. `pipeline` returns the pipeline of this index.
struct RecorderResources {
  const Plan& plan;
  const TensorStore& store;
  std::function<const vulkan::ComputePipeline&(uint32_t)> pipeline;
  // Bound where there is no tensor, or one without elements.
  const vulkan::Buffer& dummy;
};

// The descriptor sets for dispatches, in their order; VK_NULL_HANDLE for copies. They refer to the
// views.
struct DescriptorSets {
  vulkan::DescriptorPool pool;
  std::vector<vulkan::BufferView> views;
  std::vector<VkDescriptorSet> sets;
};

// Makes and fills a descriptor set for each dispatch.
Result<DescriptorSets> MakeDescriptorSets(const vulkan::Device& device,
                                          std::span<const Dispatch> dispatches,
                                          const RecorderResources& resources);

// Records dispatches into a command buffer that is recording; all it refers to must outlive it.
class Recorder {
 public:
  // `sets` has a descriptor set for each of `dispatches`. `initialized` images are in layout
  // GENERAL already; the others are brought there before their first use, where possible by a
  // barrier that is needed anyway.
  Recorder(vulkan::CommandBuffer& commands, const RecorderResources& resources,
           std::span<const Dispatch> dispatches, std::span<const VkDescriptorSet> sets,
           std::unordered_set<VkImage> initialized);

  // Adds all dispatches. With `timestamps`, writes queries 2 i and 2 i + 1 around dispatch i.
  void AddDispatches(const vulkan::TimestampPool* timestamps = nullptr);

  // Adds a copy to a tensor's buffer from one that the host sees and no dispatch uses.
  void CopyFromHost(const vulkan::Buffer& host, uint64_t host_offset, uint32_t tensor,
                    uint64_t tensor_offset, uint64_t size);

  // Makes everything written so far visible to the host and to later submissions.
  void Finish();

  size_t barriers() const { return barriers_; }
  const std::unordered_set<VkImage>& initialized() const { return initialized_; }

 private:
  struct Access {
    uint32_t tensor;
    bool read;
    bool write;
  };

  // An image whose memory nothing uses from dispatch `earliest` until its own first use.
  struct Transition {
    VkImage image;
    size_t earliest;
    size_t first;
  };

  std::vector<Access> AccessesOf(const Dispatch& dispatch) const;
  std::vector<MemoryAccess> RangesOf(std::span<const Access> accesses) const;
  void FindTransitions();
  // The transitions that a barrier before dispatch `step` can or must make.
  std::vector<VkImageMemoryBarrier> TransitionsBefore(size_t step);
  // Makes the barrier, if any, that accesses need before dispatch `step`.
  void Synchronize(std::span<const Access> accesses, size_t step);
  void AddDispatch(const Dispatch& dispatch, VkDescriptorSet set);

  vulkan::CommandBuffer& commands_;
  const RecorderResources& resources_;
  std::span<const Dispatch> dispatches_;
  std::span<const VkDescriptorSet> sets_;
  BarrierTracker tracker_;
  std::unordered_set<VkImage> initialized_;
  std::vector<Transition> transitions_;  // in order of `first`
  size_t barriers_ = 0;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_RECORDER_H_
