#include "runtime/graph/recorder.h"

namespace spirloom::graph {
namespace {

constexpr VkPipelineStageFlags kStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kReadsAndWrites =
    kWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

VkMemoryBarrier MemoryBarrier(VkAccessFlags target) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = kWrites;
  barrier.dstAccessMask = target;
  return barrier;
}

VkImageMemoryBarrier ToGeneral(VkImage image) {
  VkImageMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
  barrier.srcAccessMask = kWrites;
  barrier.dstAccessMask = kReadsAndWrites;
  barrier.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
  barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, /*baseMipLevel=*/0, /*levelCount=*/1,
                              /*baseArrayLayer=*/0, /*layerCount=*/1};
  return barrier;
}

std::span<const ops::BindingType> TypesOf(const Dispatch& dispatch, const Plan& plan) {
  const ops::VariantRow& row = *plan.nodes[dispatch.node].variant.row;
  // The row's bytes are BindingType values.
  return {reinterpret_cast<const ops::BindingType*>(row.bindings), row.binding_count};
}

vulkan::Descriptor DescriptorOf(uint32_t tensor, ops::BindingType type,
                                const RecorderResources& resources) {
  vulkan::Descriptor descriptor;
  descriptor.type = type;
  const TensorResource* resource = tensor == kNoTensor ? nullptr : resources.store.Find(tensor);
  if (resource == nullptr) {
    descriptor.buffer = resources.dummy.handle();
  } else if (resource->buffer) {
    descriptor.buffer = resource->buffer->handle();
  } else {
    descriptor.view = resource->image->view();
  }
  return descriptor;
}

}  // namespace

Result<DescriptorSets> MakeDescriptorSets(const vulkan::Device& device,
                                          std::span<const Dispatch> dispatches,
                                          const RecorderResources& resources) {
  vulkan::DescriptorCounts counts;
  for (const Dispatch& dispatch : dispatches) {
    if (dispatch.pipeline != kBufferCopy) counts.Add(TypesOf(dispatch, resources.plan));
  }
  if (counts.sets == 0) counts.sets = counts.storage_buffers = 1;
  SPIRLOOM_TRY_ASSIGN(vulkan::DescriptorPool pool, vulkan::DescriptorPool::Create(device, counts));
  DescriptorSets result{std::move(pool), {}};
  for (const Dispatch& dispatch : dispatches) {
    if (dispatch.pipeline == kBufferCopy) {
      result.sets.push_back(VK_NULL_HANDLE);
      continue;
    }
    const std::span<const ops::BindingType> types = TypesOf(dispatch, resources.plan);
    std::vector<vulkan::Descriptor> descriptors;
    for (size_t i = 0; i < dispatch.tensors.size(); ++i) {
      descriptors.push_back(DescriptorOf(dispatch.tensors[i], types[i], resources));
    }
    SPIRLOOM_TRY_ASSIGN(const VkDescriptorSet set,
                        result.pool.Allocate(resources.pipeline(dispatch.pipeline).layout().set));
    vulkan::UpdateDescriptorSet(device, set, descriptors);
    result.sets.push_back(set);
  }
  return result;
}

std::vector<Recorder::Access> Recorder::AccessesOf(const Dispatch& dispatch) const {
  std::vector<Access> accesses;
  if (dispatch.pipeline == kBufferCopy) {
    return {{dispatch.tensors[0], true, false}, {dispatch.tensors[1], false, true}};
  }
  const ops::KernelInfo& kernel = *resources_.plan.nodes[dispatch.node].kernel;
  for (size_t i = 0; i < dispatch.tensors.size(); ++i) {
    if (dispatch.tensors[i] == kNoTensor) continue;
    const ops::Access access = kernel.operands[i].access;
    accesses.push_back(
        {dispatch.tensors[i], access != ops::Access::kWrite, access != ops::Access::kRead});
  }
  return accesses;
}

void Recorder::Synchronize(std::span<const Access> accesses) {
  std::vector<MemoryAccess> ranges;
  std::vector<VkImageMemoryBarrier> images;
  for (const Access& access : accesses) {
    const TensorResource* resource = resources_.store.Find(access.tensor);
    if (resource == nullptr) continue;
    if (resource->image && initialized_.insert(resource->image->handle()).second) {
      images.push_back(ToGeneral(resource->image->handle()));
    }
    if (access.read) ranges.push_back({resource->memory, resource->begin, resource->end, false});
    if (access.write) ranges.push_back({resource->memory, resource->begin, resource->end, true});
  }
  if (!images.empty()) tracker_.Clear();
  if (!tracker_.NextStep(ranges) && images.empty()) return;
  const VkMemoryBarrier memory = MemoryBarrier(kReadsAndWrites);
  commands_.Barrier(kStages, kStages, {&memory, 1}, /*buffers=*/{}, images);
  ++barriers_;
}

void Recorder::Add(const Dispatch& dispatch, VkDescriptorSet set,
                   const vulkan::TimestampPool* timestamps, uint32_t query) {
  Synchronize(AccessesOf(dispatch));
  if (timestamps != nullptr) {
    commands_.WriteTimestamp(*timestamps, query, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
  }
  if (dispatch.pipeline == kBufferCopy) {
    const uint64_t size = resources_.plan.tensors[dispatch.tensors[0]].size;
    commands_.CopyBuffer(resources_.store.Find(dispatch.tensors[0])->buffer->handle(), 0,
                         resources_.store.Find(dispatch.tensors[1])->buffer->handle(), 0, size);
  } else {
    const vulkan::ComputePipeline& pipeline = resources_.pipeline(dispatch.pipeline);
    commands_.BindPipeline(pipeline);
    commands_.BindDescriptorSet(pipeline.layout(), set);
    commands_.PushConstants(pipeline.layout(), dispatch.push);
    commands_.Dispatch(dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
  }
  if (timestamps != nullptr) {
    commands_.WriteTimestamp(*timestamps, query + 1, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
  }
}

void Recorder::CopyFromHost(const vulkan::Buffer& host, uint64_t host_offset, uint32_t tensor,
                            uint64_t tensor_offset, uint64_t size) {
  const Access access{tensor, false, true};
  Synchronize({&access, 1});
  commands_.CopyBuffer(host.handle(), host_offset, resources_.store.Find(tensor)->buffer->handle(),
                       tensor_offset, size);
}

void Recorder::CopyToHost(uint32_t tensor, const vulkan::Buffer& host, uint64_t host_offset,
                          uint64_t size) {
  const Access access{tensor, true, false};
  Synchronize({&access, 1});
  commands_.CopyBuffer(resources_.store.Find(tensor)->buffer->handle(), 0, host.handle(),
                       host_offset, size);
}

void Recorder::Finish() {
  const VkMemoryBarrier memory = MemoryBarrier(kReadsAndWrites | VK_ACCESS_HOST_READ_BIT);
  commands_.Barrier(kStages, kStages | VK_PIPELINE_STAGE_HOST_BIT, {&memory, 1}, /*buffers=*/{},
                    /*images=*/{});
  tracker_.Clear();
}

}  // namespace spirloom::graph
