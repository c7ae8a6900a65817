// Device memory of a plan's tensors.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MEMORY_TENSOR_STORE_H_
#define SPIRLOOM_RUNTIME_GRAPH_MEMORY_TENSOR_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/graph/memory/memory_arena.h"
#include "runtime/graph/memory/memory_planner.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/image.h"
#include "runtime/vulkan/memory.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// The buffer or image of a tensor, and the bytes it takes of a memory allocation, which lives as
// long as a resource is in it. `memory` is unique in the process.
struct TensorResource {
  std::shared_ptr<const vulkan::DeviceMemory> backing;
  std::optional<vulkan::Buffer> buffer;
  std::optional<vulkan::Image> image;
  uint32_t memory = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Tests look at the memory of a store's tensors, and at what lies around it, through this.
class TensorWatch {
 public:
  virtual ~TensorWatch() = default;
  // What to leave unused on both sides of each buffer, in bytes: a multiple of
  // minStorageBufferOffsetAlignment.
  virtual uint64_t margin() const = 0;
  // The tensor has memory, which nothing uses yet and which it shares with no other.
  virtual Status Allocated(const PlanTensor& tensor, const TensorResource& resource) = 0;
  // The memory is about to be freed; the GPU is done with it.
  virtual void Released(const TensorResource& resource) = 0;
};

// A tensor (a root, not an alias) and the steps between which it is needed.
struct TensorLifetime {
  uint32_t tensor;
  uint32_t first;
  uint32_t last;
};

// What Allocate() took, in bytes.
struct AllocatedBytes {
  uint64_t planned = 0;
  uint64_t naive = 0;  // with no sharing
  uint64_t live = 0;   // the most that is needed at once
};

// Owns tensors' buffers and images and the few allocations behind them, alone or with stores that
// adopt them; what nobody else owns is freed on destruction, when the GPU must be done with it.
class TensorStore {
 public:
  // What the store allocates counts in `budget`. `watch`, if any, must outlive the store.
  TensorStore(const vulkan::Device& device, const Plan& plan, std::shared_ptr<MemoryBudget> budget,
              TensorWatch* watch = nullptr)
      : TensorStore(device, plan, std::move(budget), watch, /*parent=*/nullptr) {}
  // A store that also finds the tensors of `parent`, which must outlive it.
  static TensorStore Extending(const TensorStore& parent) {
    return {*parent.device_, *parent.plan_, parent.budget_, parent.watch_, &parent};
  }
  TensorStore(const TensorStore&) = delete;
  TensorStore& operator=(const TensorStore&) = delete;
  ~TensorStore();

  // Makes a buffer or image for each tensor; those not needed at the same time may share memory.
  // Tensors without elements get none.
  Result<AllocatedBytes> Allocate(std::span<const TensorLifetime> tensors, vulkan::MemoryUse use);
  // The same in memory that others use at other times.
  Result<AllocatedBytes> Allocate(std::span<const TensorLifetime> tensors, MemoryArena& arena);
  // The same for tensors that are all needed at once.
  Result<AllocatedBytes> Allocate(std::span<const uint32_t> tensors, vulkan::MemoryUse use);
  Result<AllocatedBytes> Allocate(std::span<const uint32_t> tensors, MemoryArena& arena);

  // Lets another store's resource hold `tensor`, a root.
  void Adopt(uint32_t tensor, std::shared_ptr<TensorResource> resource);
  // What holds `tensor`, a root, for another store to adopt; null for tensors without elements.
  std::shared_ptr<TensorResource> Share(uint32_t tensor) const;

  // What holds `tensor`, which may be an alias; null for tensors without elements.
  const TensorResource* Find(uint32_t tensor) const;

  // After loading, the plan is gone: Find() must not be called again.
  void DetachPlan() { plan_ = nullptr; }

 private:
  TensorStore(const vulkan::Device& device, const Plan& plan, std::shared_ptr<MemoryBudget> budget,
              TensorWatch* watch, const TensorStore* parent)
      : device_(&device),
        plan_(&plan),
        budget_(std::move(budget)),
        watch_(watch),
        parent_(parent) {}

  // Tensors and what was made for them, which share allocations.
  struct Pool {
    std::vector<TensorLifetime> tensors;
    std::vector<TensorResource*> resources;
  };

  Result<TensorResource> MakeResource(uint32_t tensor) const;
  Result<Pool> MakeResources(std::span<const TensorLifetime> tensors);
  std::vector<MemoryRequest> RequestsOf(const Pool& pool) const;
  Result<AllocatedBytes> AllocatePool(const Pool& pool, uint32_t type, MemoryArena& arena);

  const vulkan::Device* device_;
  const Plan* plan_;
  std::shared_ptr<MemoryBudget> budget_;
  TensorWatch* watch_;
  const TensorStore* parent_;
  std::unordered_map<uint32_t, std::shared_ptr<TensorResource>> resources_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_TENSOR_STORE_H_
