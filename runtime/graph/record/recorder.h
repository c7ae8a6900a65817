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
#include "runtime/graph/plan/plan_specializer.h"
#include "runtime/graph/record/barrier_tracker.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/graph/record/run_segments.h"
#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/descriptors.h"
#include "runtime/vulkan/timestamps.h"

namespace spirloom::graph {

// Resources of dispatches. `pipeline` returns the pipeline with the given index.
struct RecorderResources {
  const Plan& plan;
  const TensorStore& store;
  std::function<const vulkan::ComputePipeline&(uint32_t)> pipeline;
  // Bound for absent and empty tensors.
  const vulkan::Buffer& dummy;
  // The sizes and offsets of the tensors; null: those of `plan`.
  const PlanValues* values = nullptr;

  TensorValues ValuesOf(uint32_t tensor) const {
    if (values != nullptr) return values->tensors[tensor];
    return {.size = plan.tensors[tensor].size, .alias_offset = plan.tensors[tensor].alias_offset};
  }
};

// Descriptor sets of dispatches, in order; VK_NULL_HANDLE for copies. The sets refer to `views`.
struct DescriptorSets {
  vulkan::DescriptorPool pool;
  std::vector<vulkan::BufferView> views;
  std::vector<VkDescriptorSet> sets;
};

// Allocates and updates a descriptor set per dispatch.
Result<DescriptorSets> MakeDescriptorSets(const vulkan::Device& device,
                                          std::span<const Dispatch> dispatches,
                                          const RecorderResources& resources);

// Records dispatches into a command buffer in the recording state. All arguments must outlive it.
class Recorder {
 public:
  // The stages of all recorded commands.
  static constexpr VkPipelineStageFlags kWork =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;

  // `sets` contains a descriptor set per dispatch. `initialized` images are in
  // VK_IMAGE_LAYOUT_GENERAL; other images are transitioned before their first use, if possible
  // within another barrier.
  Recorder(vulkan::CommandBuffer& commands, const RecorderResources& resources,
           std::span<const Dispatch> dispatches, std::span<const VkDescriptorSet> sets,
           std::unordered_set<VkImage> initialized);
  // As above, for buffers only. `barriers`: the barriers() of other dispatches, of which these
  // access the same bytes or fewer. Nothing is tracked.
  Recorder(vulkan::CommandBuffer& commands, const RecorderResources& resources,
           std::span<const Dispatch> dispatches, std::span<const VkDescriptorSet> sets,
           std::vector<bool> barriers);

  // Records the slices of a segment. The segments of a run are added in order. With `timestamps`,
  // writes queries 2 i and 2 i + 1 around dispatch i.
  void AddSegment(const Segment& segment, const vulkan::TimestampPool* timestamps = nullptr);

  // Records what follows into `commands`, which is submitted after the previous command buffer to
  // the same queue.
  void ContinueIn(vulkan::CommandBuffer& commands) { commands_ = &commands; }

  // Records a copy from a staging buffer, which no dispatch uses, to the buffer of a tensor.
  void CopyFromHost(const vulkan::Buffer& host, uint64_t host_offset, uint32_t tensor,
                    uint64_t tensor_offset, uint64_t size);

  // Records a barrier that makes all writes visible to the host and to later dispatches and copies
  // of the queue.
  void Finish() { Finish(kWork); }
  // As above, but only later commands in `stages`, of kWork, wait: others of the same queue overlap
  // with the recorded ones.
  void Finish(VkPipelineStageFlags stages);
  // Records a barrier that makes all writes of earlier submissions to the queue visible.
  void Start();

  // By dispatch: whether a barrier precedes it.
  const std::vector<bool>& barriers() const { return barriers_; }
  // The number of barriers between the dispatches.
  size_t barrier_count() const { return barrier_count_; }
  const std::unordered_set<VkImage>& initialized() const { return initialized_; }

 private:
  struct Access {
    uint32_t tensor;
    bool read;
    bool write;
  };

  // Layout transition of an image. No dispatch in [earliest, first) uses its memory.
  struct Transition {
    VkImage image;
    size_t earliest;
    size_t first;
  };

  std::vector<Access> AccessesOf(const Dispatch& dispatch) const;
  std::vector<MemoryAccess> RangesOf(std::span<const Access> accesses) const;
  void FindTransitions();
  // Returns the transitions that a barrier before dispatch `step` can or must include.
  std::vector<VkImageMemoryBarrier> TransitionsBefore(size_t step);
  // Records a barrier before dispatch `step` if its accesses require one.
  void Synchronize(std::span<const Access> accesses, size_t step);
  void AddBarrier(size_t step);
  void AddCopy(const Dispatch& copy);
  void AddSlice(const Slice& slice);

  vulkan::CommandBuffer* commands_;
  const RecorderResources& resources_;
  std::span<const Dispatch> dispatches_;
  std::span<const VkDescriptorSet> sets_;
  BarrierTracker tracker_;
  std::unordered_set<VkImage> initialized_;
  std::vector<Transition> transitions_;  // in order of `first`
  const bool tracks_ = true;
  std::vector<bool> barriers_;  // by dispatch
  size_t barrier_count_ = 0;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_RECORDER_H_
