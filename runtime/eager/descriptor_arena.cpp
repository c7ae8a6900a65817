#include "runtime/eager/descriptor_arena.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace spirloom::eager {
namespace {

// Sets of a pool, and descriptors of each kind.
constexpr uint32_t kSets = 128;
constexpr uint32_t kDescriptors = 512;

bool Fit(const vulkan::DescriptorCounts& required, const vulkan::DescriptorCounts& left) {
  return required.sets <= left.sets && required.storage_buffers <= left.storage_buffers &&
         required.texel_buffers <= left.texel_buffers;
}

}  // namespace

Status DescriptorArena::NextChunk(const vulkan::DescriptorCounts& required) {
  if (current_) {
    current_->last = ring_.last_recorded();
    filled_.push_back(std::move(*current_));
    current_.reset();
  }
  while (!filled_.empty() && filled_.front().last <= ring_.last_completed()) filled_.pop_front();
  vulkan::DescriptorCounts counts;
  counts.sets = kSets;
  counts.storage_buffers = std::max(kDescriptors, required.storage_buffers);
  counts.texel_buffers = std::max(kDescriptors, required.texel_buffers);
  SPIRLOOM_TRY_ASSIGN(vulkan::DescriptorPool pool, vulkan::DescriptorPool::Create(device_, counts));
  current_.emplace(Chunk{std::move(pool), counts});
  return {};
}

Result<VkDescriptorSet> DescriptorArena::Make(const vulkan::ComputePipeline& pipeline,
                                              std::span<const BufferPart> parts) {
  const std::span<const pack::BindingType> types = pipeline.bindings();
  assert(types.size() == parts.size());
  vulkan::DescriptorCounts required;
  required.Add(types);
  if (!current_ || !Fit(required, current_->left)) SPIRLOOM_TRY(NextChunk(required));
  std::vector<vulkan::Descriptor> descriptors;
  descriptors.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (types[i] == pack::BindingType::kAbsent) {
      descriptors.push_back({.type = types[i]});
      continue;
    }
    SPIRLOOM_TRY_ASSIGN(const vulkan::Descriptor descriptor,
                        vulkan::BufferDescriptor(*parts[i].buffer, parts[i].offset, parts[i].size,
                                                 types[i], current_->views));
    descriptors.push_back(descriptor);
  }
  SPIRLOOM_TRY_ASSIGN(const VkDescriptorSet set, current_->pool.Allocate(pipeline.layout().set));
  current_->left.sets -= required.sets;
  current_->left.storage_buffers -= required.storage_buffers;
  current_->left.texel_buffers -= required.texel_buffers;
  vulkan::UpdateDescriptorSet(device_, set, descriptors);
  return set;
}

}  // namespace spirloom::eager
