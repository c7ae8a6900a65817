#include "runtime/graph/record/recorder.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "runtime/pack/image_types.h"

namespace spirloom::graph {
namespace {

constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kReadsAndWrites =
    kWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

// Maximum number of dispatches between the layout transition of an image and its first use.
constexpr size_t kLookAhead = 64;

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
                              /*baseArrayLayer=*/0, VK_REMAINING_ARRAY_LAYERS};
  return barrier;
}

// Returns the descriptor of a binding. Adds required buffer views to `views`.
Result<vulkan::Descriptor> DescriptorOf(uint32_t tensor, pack::BindingType type,
                                        const RecorderResources& resources,
                                        std::vector<vulkan::BufferView>& views) {
  if (type == pack::BindingType::kAbsent) return vulkan::Descriptor{.type = type};
  const TensorResource* resource = tensor == kNoTensor ? nullptr : resources.store.Find(tensor);
  if (resource != nullptr && resource->image) {
    return vulkan::Descriptor{.type = type, .view = resource->image->view()};
  }
  if (resource == nullptr) {
    return vulkan::BufferDescriptor(resources.dummy, 0, resources.dummy.size(), type, views);
  }
  const TensorValues part = resources.ValuesOf(tensor);
  assert(part.alias_offset + part.size <= resource->buffer->size());
  return vulkan::BufferDescriptor(*resource->buffer, part.alias_offset, part.buffer_size(), type,
                                  views);
}

}  // namespace

Result<DescriptorSets> MakeDescriptorSets(const vulkan::Device& device,
                                          std::span<const Dispatch> dispatches,
                                          const RecorderResources& resources) {
  vulkan::DescriptorCounts counts;
  for (const Dispatch& dispatch : dispatches) {
    if (dispatch.pipeline != kBufferCopy) {
      counts.Add(resources.pipeline(dispatch.pipeline).bindings());
    }
  }
  if (counts.sets == 0) counts.sets = counts.storage_buffers = 1;
  SPIRLOOM_TRY_ASSIGN(vulkan::DescriptorPool pool, vulkan::DescriptorPool::Create(device, counts));
  DescriptorSets result{std::move(pool), {}, {}};
  for (const Dispatch& dispatch : dispatches) {
    if (dispatch.pipeline == kBufferCopy) {
      result.sets.push_back(VK_NULL_HANDLE);
      continue;
    }
    const vulkan::ComputePipeline& pipeline = resources.pipeline(dispatch.pipeline);
    assert(pipeline.bindings().size() == dispatch.tensors.size());
    std::vector<vulkan::Descriptor> descriptors;
    for (size_t i = 0; i < dispatch.tensors.size(); ++i) {
      SPIRLOOM_TRY_ASSIGN(
          const vulkan::Descriptor descriptor,
          DescriptorOf(dispatch.tensors[i], pipeline.bindings()[i], resources, result.views));
      descriptors.push_back(descriptor);
    }
    SPIRLOOM_TRY_ASSIGN(const VkDescriptorSet set, result.pool.Allocate(pipeline.layout().set));
    vulkan::UpdateDescriptorSet(device, set, descriptors);
    result.sets.push_back(set);
  }
  return result;
}

Recorder::Recorder(vulkan::CommandBuffer& commands, const RecorderResources& resources,
                   std::span<const Dispatch> dispatches, std::span<const VkDescriptorSet> sets,
                   std::unordered_set<VkImage> initialized)
    : commands_(&commands),
      resources_(resources),
      dispatches_(dispatches),
      sets_(sets),
      initialized_(std::move(initialized)),
      barriers_(dispatches.size()) {
  assert(sets_.size() == dispatches_.size());
  FindTransitions();
}

Recorder::Recorder(vulkan::CommandBuffer& commands, const RecorderResources& resources,
                   std::span<const Dispatch> dispatches, std::span<const VkDescriptorSet> sets,
                   std::vector<bool> barriers)
    : commands_(&commands),
      resources_(resources),
      dispatches_(dispatches),
      sets_(sets),
      tracks_(false),
      barriers_(std::move(barriers)) {
  assert(sets_.size() == dispatches_.size() && barriers_.size() == dispatches_.size());
}

std::vector<Recorder::Access> Recorder::AccessesOf(const Dispatch& dispatch) const {
  std::vector<Access> accesses;
  if (dispatch.pipeline == kBufferCopy) {
    return {{dispatch.tensors[0], true, false}, {dispatch.tensors[1], false, true}};
  }
  const ops::KernelInfo& kernel = *resources_.plan.nodes[dispatch.node].kernel;
  assert(dispatch.tensors.size() == kernel.operands.size());
  for (size_t i = 0; i < dispatch.tensors.size(); ++i) {
    if (dispatch.tensors[i] == kNoTensor) continue;
    const ops::Access access = kernel.operands[i].access;
    accesses.push_back(
        {dispatch.tensors[i], access != ops::Access::kWrite, access != ops::Access::kRead});
  }
  return accesses;
}

std::vector<MemoryAccess> Recorder::RangesOf(std::span<const Access> accesses) const {
  std::vector<MemoryAccess> ranges;
  for (const Access& access : accesses) {
    const TensorResource* resource = resources_.store.Find(access.tensor);
    if (resource == nullptr) continue;
    uint64_t begin = resource->begin;
    uint64_t end = resource->end;
    if (const TensorValues part = resources_.ValuesOf(access.tensor); resource->buffer) {
      begin += part.alias_offset;
      end = std::min(end, begin + part.buffer_size());
    }
    assert(begin < end);
    if (access.read) ranges.push_back({resource->memory, begin, end, false});
    if (access.write) ranges.push_back({resource->memory, begin, end, true});
  }
  return ranges;
}

void Recorder::FindTransitions() {
  std::unordered_set<VkImage> seen = initialized_;
  std::vector<std::vector<MemoryAccess>> ranges;
  for (size_t step = 0; step < dispatches_.size(); ++step) {
    const std::vector<Access> accesses = AccessesOf(dispatches_[step]);
    for (const Access& access : accesses) {
      const TensorResource* resource = resources_.store.Find(access.tensor);
      if (resource == nullptr || !resource->image) continue;
      if (!seen.insert(resource->image->handle()).second) continue;
      const auto uses_memory = [&](const MemoryAccess& other) {
        return other.memory == resource->memory && other.begin < resource->end &&
               resource->begin < other.end;
      };
      size_t earliest = step;
      const size_t oldest = step - std::min(step, kLookAhead);
      while (earliest > oldest &&
             std::none_of(ranges[earliest - 1].begin(), ranges[earliest - 1].end(), uses_memory)) {
        --earliest;
      }
      transitions_.push_back({resource->image->handle(), earliest, step});
    }
    ranges.push_back(RangesOf(accesses));
  }
}

std::vector<VkImageMemoryBarrier> Recorder::TransitionsBefore(size_t step) {
  std::vector<VkImageMemoryBarrier> barriers;
  auto next = std::lower_bound(
      transitions_.begin(), transitions_.end(), step,
      [](const Transition& transition, size_t index) { return transition.first < index; });
  for (; next != transitions_.end() && next->first - step <= kLookAhead; ++next) {
    if (next->earliest > step || !initialized_.insert(next->image).second) continue;
    barriers.push_back(ToGeneral(next->image));
  }
  return barriers;
}

void Recorder::Synchronize(std::span<const Access> accesses, size_t step) {
  const bool must_transition =
      std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
        const TensorResource* resource = resources_.store.Find(access.tensor);
        return resource != nullptr && resource->image &&
               !initialized_.contains(resource->image->handle());
      });
  if (must_transition) tracker_.Clear();
  if (!tracker_.NextStep(RangesOf(accesses)) && !must_transition) return;
  AddBarrier(step);
}

void Recorder::AddBarrier(size_t step) {
  const VkMemoryBarrier memory = MemoryBarrier(kReadsAndWrites);
  commands_->Barrier(kWork, kWork, {&memory, 1}, /*buffers=*/{}, TransitionsBefore(step));
  if (step < barriers_.size()) barriers_[step] = true;
  ++barrier_count_;
}

void Recorder::AddSegment(const Segment& segment, const vulkan::TimestampPool* timestamps) {
  for (const Slice& slice : segment.slices) {
    const Dispatch& dispatch = dispatches_[slice.dispatch];
    const bool first = slice.begin == 0;
    const bool last = slice.end == std::max(dispatch.groups[SlicedDimension(dispatch)], 1U);
    const uint32_t query = 2 * slice.dispatch;
    if (first && tracks_) Synchronize(AccessesOf(dispatch), slice.dispatch);
    if (first && !tracks_ && barriers_[slice.dispatch]) AddBarrier(slice.dispatch);
    if (first && timestamps != nullptr) {
      commands_->WriteTimestamp(*timestamps, query, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    }
    commands_->BeginLabel(resources_.plan.nodes[dispatch.node].name);
    if (dispatch.pipeline == kBufferCopy) {
      AddCopy(dispatch);
    } else {
      AddSlice(slice);
    }
    commands_->EndLabel();
    if (last && timestamps != nullptr) {
      commands_->WriteTimestamp(*timestamps, query + 1, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    }
  }
}

void Recorder::AddCopy(const Dispatch& copy) {
  const vulkan::Buffer& source = *resources_.store.Find(copy.tensors[0])->buffer;
  const vulkan::Buffer& target = *resources_.store.Find(copy.tensors[1])->buffer;
  const TensorValues part = resources_.ValuesOf(copy.tensors[0]);
  const uint64_t target_offset = resources_.ValuesOf(copy.tensors[1]).alias_offset;
  assert(part.alias_offset + part.size <= source.size() &&
         target_offset + part.size <= target.size());
  commands_->CopyBuffer(source.handle(), source.offset() + part.alias_offset, target.handle(),
                        target.offset() + target_offset, part.size);
}

void Recorder::AddSlice(const Slice& slice) {
  const Dispatch& dispatch = dispatches_[slice.dispatch];
  const vulkan::ComputePipeline& pipeline = resources_.pipeline(dispatch.pipeline);
  commands_->BindPipeline(pipeline);
  commands_->BindDescriptorSet(pipeline.layout(), sets_[slice.dispatch]);
  commands_->PushConstants(pipeline.layout(), dispatch.push);
  std::array<uint32_t, 3> base{};
  std::array<uint32_t, 3> groups = dispatch.groups;
  base[SlicedDimension(dispatch)] = slice.begin;
  groups[SlicedDimension(dispatch)] = slice.end - slice.begin;
  commands_->Dispatch(base, groups);
}

void Recorder::CopyFromHost(const vulkan::Buffer& host, uint64_t host_offset, uint32_t tensor,
                            uint64_t tensor_offset, uint64_t size) {
  const Access access{tensor, false, true};
  Synchronize({&access, 1}, /*step=*/0);
  const vulkan::Buffer& target = *resources_.store.Find(tensor)->buffer;
  assert(host_offset + size <= host.size() && tensor_offset + size <= target.size());
  commands_->CopyBuffer(host.handle(), host_offset, target.handle(),
                        target.offset() + tensor_offset, size);
}

void Recorder::Start() {
  const VkMemoryBarrier memory = MemoryBarrier(kReadsAndWrites);
  commands_->Barrier(kWork, kWork, {&memory, 1}, /*buffers=*/{}, /*images=*/{});
}

void Recorder::Finish(VkPipelineStageFlags stages) {
  VkAccessFlags accesses = VK_ACCESS_HOST_READ_BIT;
  if ((stages & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT) != 0) {
    accesses |= VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  }
  if ((stages & VK_PIPELINE_STAGE_TRANSFER_BIT) != 0) {
    accesses |= VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  }
  const VkMemoryBarrier memory = MemoryBarrier(accesses);
  commands_->Barrier(kWork, stages | VK_PIPELINE_STAGE_HOST_BIT, {&memory, 1}, /*buffers=*/{},
                     /*images=*/{});
  tracker_.Clear();
}

}  // namespace spirloom::graph
