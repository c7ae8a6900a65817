#include "runtime/graph/tensor_store.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <utility>

#include "runtime/graph/device_traits.h"
#include "runtime/graph/memory_planner.h"

namespace spirloom::graph {
namespace {

// Kernels may read whole vectors of four, so buffers end at a multiple of 16 bytes.
constexpr uint64_t kBufferGranularity = 16;

uint32_t NextMemoryId() {
  static std::atomic<uint32_t> next{0};
  return next.fetch_add(1);
}

const VkMemoryRequirements& RequirementsOf(const TensorResource& resource) {
  return resource.buffer ? resource.buffer->requirements() : resource.image->requirements();
}

Status BindTo(TensorResource& resource, const vulkan::DeviceMemory& memory, uint64_t offset) {
  return resource.buffer ? resource.buffer->Bind(memory, offset)
                         : resource.image->Bind(memory, offset);
}

// Buffers and images in one allocation must not share a page of this size.
uint64_t GranularityOf(std::span<TensorResource* const> resources, const vulkan::Device& device) {
  const auto is_image = [](const TensorResource* resource) { return resource->image.has_value(); };
  const bool any = std::any_of(resources.begin(), resources.end(), is_image);
  const bool all = std::all_of(resources.begin(), resources.end(), is_image);
  return any && !all ? std::max<uint64_t>(device.limits().bufferImageGranularity, 1) : 1;
}

}  // namespace

Result<TensorResource> TensorStore::MakeResource(uint32_t tensor) const {
  const PlanTensor& source = plan_->tensors[tensor];
  TensorResource resource;
  if (source.storage() == Storage::kTexture3D) {
    const TextureExtent texels = TextureExtentOf(source.desc.shape);
    const VkExtent3D extent{static_cast<uint32_t>(texels.width),
                            static_cast<uint32_t>(texels.height),
                            static_cast<uint32_t>(texels.depth)};
    SPIRLOOM_TRY_ASSIGN(
        resource.image,
        vulkan::Image::CreateUnbound(*device_, extent, vulkan::TexelFormat(source.desc.dtype)));
  } else {
    const uint64_t size =
        (source.size + kBufferGranularity - 1) / kBufferGranularity * kBufferGranularity;
    SPIRLOOM_TRY_ASSIGN(resource.buffer, vulkan::Buffer::CreateUnbound(*device_, size));
  }
  return resource;
}

Result<AllocatedBytes> TensorStore::Allocate(std::span<const uint32_t> tensors,
                                             vulkan::MemoryUse use) {
  std::vector<TensorLifetime> lifetimes;
  for (uint32_t tensor : tensors) lifetimes.push_back({tensor, 0, 0});
  return Allocate(lifetimes, use);
}

Result<AllocatedBytes> TensorStore::Allocate(std::span<const TensorLifetime> tensors,
                                             vulkan::MemoryUse use) {
  struct Pool {
    std::vector<TensorLifetime> tensors;
    std::vector<TensorResource*> resources;
  };
  Pool all;
  uint32_t common_bits = std::numeric_limits<uint32_t>::max();
  for (const TensorLifetime& lifetime : tensors) {
    const PlanTensor& tensor = plan_->tensors[lifetime.tensor];
    if (tensor.size == 0) continue;
    Result<TensorResource> made = MakeResource(lifetime.tensor);
    if (!made.ok()) {
      return std::move(made).status().While("allocating tensor " + Quote(tensor.name));
    }
    TensorResource& resource = resources_[lifetime.tensor];
    resource = std::move(made).value();
    common_bits &= RequirementsOf(resource).memoryTypeBits;
    all.tensors.push_back(lifetime);
    all.resources.push_back(&resource);
  }
  if (all.tensors.empty()) return AllocatedBytes();
  if (vulkan::ChooseMemoryType(device_->physical().memory, common_bits, use).has_value()) {
    return AllocatePool(all.tensors, all.resources, common_bits, use);
  }
  std::map<uint32_t, Pool> pools;
  for (size_t i = 0; i < all.tensors.size(); ++i) {
    Pool& pool = pools[RequirementsOf(*all.resources[i]).memoryTypeBits];
    pool.tensors.push_back(all.tensors[i]);
    pool.resources.push_back(all.resources[i]);
  }
  AllocatedBytes total;
  for (const auto& [bits, pool] : pools) {
    SPIRLOOM_TRY_ASSIGN(const AllocatedBytes bytes,
                        AllocatePool(pool.tensors, pool.resources, bits, use));
    total.planned += bytes.planned;
    total.naive += bytes.naive;
  }
  return total;
}

Result<AllocatedBytes> TensorStore::AllocatePool(std::span<const TensorLifetime> tensors,
                                                 std::span<TensorResource* const> resources,
                                                 uint32_t type_bits, vulkan::MemoryUse use) {
  const uint64_t granularity = GranularityOf(resources, *device_);
  std::vector<MemoryRequest> requests;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const VkMemoryRequirements& needs = RequirementsOf(*resources[i]);
    const uint64_t size = (needs.size + granularity - 1) / granularity * granularity;
    requests.push_back(
        {size, std::max(needs.alignment, granularity), tensors[i].first, tensors[i].last});
  }
  SPIRLOOM_TRY_ASSIGN(const MemoryPlan plan,
                      PlanMemory(requests, device_->physical().max_memory_allocation_size));
  std::vector<uint32_t> ids;
  const size_t first = memories_.size();
  for (uint64_t size : plan.block_size) {
    SPIRLOOM_TRY_ASSIGN(vulkan::DeviceMemory memory,
                        vulkan::DeviceMemory::Create(*device_, size, type_bits, use));
    memories_.push_back(std::move(memory));
    ids.push_back(NextMemoryId());
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const MemorySlot& slot = plan.slots[i];
    TensorResource& resource = *resources[i];
    SPIRLOOM_TRY(BindTo(resource, memories_[first + slot.block], slot.offset));
    resource.memory = ids[slot.block];
    resource.begin = slot.offset;
    resource.end = slot.offset + requests[i].size;
  }
  return AllocatedBytes{plan.planned_bytes, plan.naive_bytes};
}

const TensorResource* TensorStore::Find(uint32_t tensor) const {
  const uint32_t root = plan_->Root(tensor);
  for (const TensorStore* store = this; store != nullptr; store = store->parent_) {
    if (auto found = store->resources_.find(root); found != store->resources_.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

}  // namespace spirloom::graph
