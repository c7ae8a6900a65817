// Records dispatches into a command buffer, with the barriers between them.
#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORDER_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <vector>

#include "runtime/graph/barrier_tracker.h"
#include "runtime/graph/dispatch.h"
#include "runtime/graph/tensor_store.h"
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

// The descriptor sets for dispatches, in their order; VK_NULL_HANDLE for copies.
struct DescriptorSets {
  vulkan::DescriptorPool pool;
  std::vector<VkDescriptorSet> sets;
};

// Makes and fills a descriptor set for each dispatch.
Result<DescriptorSets> MakeDescriptorSets(const vulkan::Device& device,
                                          std::span<const Dispatch> dispatches,
                                          const RecorderResources& resources);

// Records into a command buffer that is recording; all it refers to must outlive it.
class Recorder {
 public:
  // `initialized` images are in layout GENERAL already; others are brought there at first use.
  Recorder(vulkan::CommandBuffer& commands, const RecorderResources& resources,
           std::unordered_set<VkImage> initialized)
      : commands_(commands), resources_(resources), initialized_(std::move(initialized)) {}

  // Adds a dispatch with its descriptor set, or a copy. With `timestamps`, writes queries `query`
  // and `query` + 1 around it.
  void Add(const Dispatch& dispatch, VkDescriptorSet set,
           const vulkan::TimestampPool* timestamps = nullptr, uint32_t query = 0);

  // Adds a copy between a tensor's buffer and one that the host sees and no dispatch uses.
  void CopyFromHost(const vulkan::Buffer& host, uint64_t host_offset, uint32_t tensor,
                    uint64_t tensor_offset, uint64_t size);
  void CopyToHost(uint32_t tensor, const vulkan::Buffer& host, uint64_t host_offset, uint64_t size);

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

  std::vector<Access> AccessesOf(const Dispatch& dispatch) const;
  void Synchronize(std::span<const Access> accesses);

  vulkan::CommandBuffer& commands_;
  const RecorderResources& resources_;
  BarrierTracker tracker_;
  std::unordered_set<VkImage> initialized_;
  size_t barriers_ = 0;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORDER_H_
