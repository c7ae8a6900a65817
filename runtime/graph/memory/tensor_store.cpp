#include "runtime/graph/memory/tensor_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/graph/plan/device_traits.h"

namespace spirloom::graph {
namespace {

uint32_t NextMemoryId() {
  static std::atomic<uint32_t> next{0};
  return next.fetch_add(1);
}

const VkMemoryRequirements& RequirementsOf(const TensorResource& resource) {
  return resource.buffer ? resource.buffer->requirements() : resource.image->requirements();
}

Status BindTo(TensorResource& resource, std::shared_ptr<const vulkan::DeviceMemory> memory,
              uint64_t offset) {
  assert(resource.backing == nullptr);
  resource.backing = std::move(memory);
  return resource.buffer ? resource.buffer->Bind(*resource.backing, offset)
                         : resource.image->Bind(*resource.backing, offset);
}

// bufferImageGranularity if both buffers and images are in the allocation, else 1.
uint64_t GranularityOf(std::span<TensorResource* const> resources, const vulkan::Device& device) {
  const auto is_image = [](const TensorResource* resource) { return resource->image.has_value(); };
  const bool any = std::any_of(resources.begin(), resources.end(), is_image);
  const bool all = std::all_of(resources.begin(), resources.end(), is_image);
  return any && !all ? std::max<uint64_t>(device.limits().bufferImageGranularity, 1) : 1;
}

uint32_t CommonTypes(std::span<TensorResource* const> resources) {
  uint32_t bits = ~uint32_t{0};
  for (const TensorResource* resource : resources) bits &= RequirementsOf(*resource).memoryTypeBits;
  return bits;
}

// Returns the maximum block size in memory of this type.
uint64_t MaxBlockSize(const vulkan::PhysicalDevice& device, uint32_t type,
                      std::span<const MemoryRequest> requests) {
  uint64_t min = device.memory.memoryHeaps[device.memory.memoryTypes[type].heapIndex].size;
  for (const MemoryRequest& request : requests) min = std::max(min, request.size);
  return std::min<uint64_t>(device.max_memory_allocation_size, min);
}

Result<std::vector<std::shared_ptr<vulkan::DeviceMemory>>> AllocateBlocks(const MemoryPlan& plan,
                                                                          uint32_t type,
                                                                          uint32_t type_bits,
                                                                          MemoryArena& arena) {
  std::vector<std::shared_ptr<vulkan::DeviceMemory>> blocks;
  for (uint64_t size : plan.block_size) {
    SPIRLOOM_TRY_ASSIGN(auto block, arena.Block(type, type_bits, blocks.size(), size));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace

TensorStore::~TensorStore() {
  if (watch_ == nullptr) return;
  for (const auto& [tensor, resource] : resources_) watch_->Released(*resource);
}

Result<TensorResource> TensorStore::MakeResource(uint32_t tensor) const {
  const PlanTensor& source = plan_->tensors[tensor];
  TensorResource resource;
  if (IsTexture(source.storage())) {
    const TextureExtent texels = TextureExtentOf(source.desc.shape);
    const VkExtent3D extent{static_cast<uint32_t>(texels.width),
                            static_cast<uint32_t>(texels.height),
                            static_cast<uint32_t>(texels.depth)};
    SPIRLOOM_TRY_ASSIGN(resource.image,
                        vulkan::Image::CreateUnbound(*device_, source.storage(), extent,
                                                     vulkan::TexelFormat(source.desc.dtype)));
  } else {
    const uint64_t margin = watch_ == nullptr ? 0 : watch_->margin();
    SPIRLOOM_TRY_ASSIGN(resource.buffer,
                        vulkan::Buffer::CreateUnbound(*device_, source.buffer_size(), margin));
  }
  return resource;
}

Result<AllocatedBytes> TensorStore::Allocate(std::span<const uint32_t> tensors,
                                             vulkan::MemoryUse use) {
  MemoryArena arena(*device_, use, budget_);
  return Allocate(tensors, arena);
}

Result<AllocatedBytes> TensorStore::Allocate(std::span<const uint32_t> tensors,
                                             MemoryArena& arena) {
  std::vector<TensorLifetime> lifetimes;
  for (uint32_t tensor : tensors) lifetimes.push_back({tensor, 0, 0});
  return Allocate(lifetimes, arena);
}

Result<AllocatedBytes> TensorStore::Allocate(std::span<const TensorLifetime> tensors,
                                             vulkan::MemoryUse use) {
  MemoryArena arena(*device_, use, budget_);
  return Allocate(tensors, arena);
}

Result<AllocatedBytes> TensorStore::Allocate(std::span<const TensorLifetime> tensors,
                                             MemoryArena& arena) {
  SPIRLOOM_TRY_ASSIGN(const Pool all, MakeResources(tensors));
  std::vector<uint32_t> type_bits;
  for (const TensorResource* resource : all.resources) {
    type_bits.push_back(RequirementsOf(*resource).memoryTypeBits);
  }
  const std::optional<std::vector<uint32_t>> types =
      vulkan::ChooseMemoryTypes(device_->physical().memory, type_bits, arena.use());
  if (!types) {
    return Error(StatusCode::kUnsupported, "The device has no memory type for this use.");
  }
  std::array<Pool, VK_MAX_MEMORY_TYPES> pools;
  for (size_t i = 0; i < all.tensors.size(); ++i) {
    Pool& pool = pools[(*types)[i]];
    pool.tensors.push_back(all.tensors[i]);
    pool.resources.push_back(all.resources[i]);
  }
  AllocatedBytes total;
  for (uint32_t type = 0; type < pools.size(); ++type) {
    if (pools[type].tensors.empty()) continue;
    SPIRLOOM_TRY_ASSIGN(const AllocatedBytes bytes, AllocatePool(pools[type], type, arena));
    total.planned += bytes.planned;
    total.naive += bytes.naive;
    total.live += bytes.live;
  }
  return total;
}

Result<TensorStore::Pool> TensorStore::MakeResources(std::span<const TensorLifetime> tensors) {
  Pool all;
  for (const TensorLifetime& lifetime : tensors) {
    const PlanTensor& tensor = plan_->tensors[lifetime.tensor];
    if (tensor.size == 0) continue;
    Result<TensorResource> created = MakeResource(lifetime.tensor);
    if (!created.ok()) {
      return While(std::move(created).status(), "allocating tensor {}", Quoted{tensor.name});
    }
    auto& resource = resources_[lifetime.tensor];
    resource = std::make_shared<TensorResource>(std::move(created).value());
    all.tensors.push_back(lifetime);
    all.resources.push_back(resource.get());
  }
  return all;
}

Result<AllocatedBytes> TensorStore::AllocatePool(const Pool& pool, uint32_t type,
                                                 MemoryArena& arena) {
  const std::vector<MemoryRequest> requests = RequestsOf(pool);
  const uint32_t type_bits = CommonTypes(pool.resources);
  std::vector<std::shared_ptr<vulkan::DeviceMemory>> blocks;
  const auto allocate = [&](const MemoryPlan& candidate) -> Status {
    auto allocated = AllocateBlocks(candidate, type, type_bits, arena);
    if (allocated.ok()) {
      blocks = std::move(allocated).value();
      return Status();
    }
    arena.DropUnused();  // to allocate smaller blocks
    return std::move(allocated).status();
  };
  SPIRLOOM_TRY_ASSIGN(
      const MemoryPlan plan,
      PlanAndAllocate(requests, MaxBlockSize(device_->physical(), type, requests), allocate));
  assert(blocks.size() == plan.block_size.size());
  std::vector<uint32_t> ids;
  for (size_t i = 0; i < blocks.size(); ++i) ids.push_back(NextMemoryId());
  for (size_t i = 0; i < requests.size(); ++i) {
    const MemorySlot& slot = plan.slots[i];
    TensorResource& resource = *pool.resources[i];
    SPIRLOOM_TRY(BindTo(resource, blocks[slot.block], slot.offset));
    resource.memory = ids[slot.block];
    resource.begin = slot.offset;
    resource.end = slot.offset + requests[i].size;
    if (watch_ == nullptr) continue;
    SPIRLOOM_TRY(watch_->Allocated(plan_->tensors[pool.tensors[i].tensor], resource));
  }
  return AllocatedBytes{plan.planned_bytes, plan.naive_bytes, plan.live_bytes};
}

std::vector<MemoryRequest> TensorStore::RequestsOf(const Pool& pool) const {
  const uint64_t granularity = GranularityOf(pool.resources, *device_);
  std::vector<MemoryRequest> requests;
  for (size_t i = 0; i < pool.tensors.size(); ++i) {
    const VkMemoryRequirements& needs = RequirementsOf(*pool.resources[i]);
    const uint64_t size = (needs.size + granularity - 1) / granularity * granularity;
    MemoryRequest request{size, std::max(needs.alignment, granularity), pool.tensors[i].first,
                          pool.tensors[i].last};
    if (watch_ != nullptr) request.first = request.last = 0;  // lifetimes overlap: no sharing
    requests.push_back(request);
  }
  return requests;
}

void TensorStore::Adopt(uint32_t tensor, std::shared_ptr<TensorResource> resource) {
  assert(resource != nullptr);
  resources_[tensor] = std::move(resource);
}

std::shared_ptr<TensorResource> TensorStore::Share(uint32_t tensor) const {
  const auto found = resources_.find(tensor);
  return found == resources_.end() ? nullptr : found->second;
}

const TensorResource* TensorStore::Find(uint32_t tensor) const {
  const uint32_t root = plan_->Root(tensor);
  for (const TensorStore* store = this; store != nullptr; store = store->parent_) {
    if (auto found = store->resources_.find(root); found != store->resources_.end()) {
      return found->second.get();
    }
  }
  return nullptr;
}

}  // namespace spirloom::graph
