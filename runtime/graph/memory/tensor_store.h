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

// The buffer or image of a tensor, and its range [begin, end) in a memory allocation. The
// allocation is shared by its resources. `memory` identifies it, unique in the process.
struct TensorResource {
  std::shared_ptr<const vulkan::DeviceMemory> backing;
  std::optional<vulkan::Buffer> buffer;
  std::optional<vulkan::Image> image;
  uint32_t memory = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Test hook: observes the memory of a store's tensors and the bytes around them.
class TensorWatch {
 public:
  virtual ~TensorWatch() = default;
  // Unused bytes on both sides of each buffer: a multiple of minStorageBufferOffsetAlignment.
  virtual uint64_t margin() const = 0;
  // Called after allocation, before the first use. The tensor shares its memory with no other.
  virtual Status Allocated(const PlanTensor& tensor, const TensorResource& resource) = 0;
  // Called before the memory is freed, after the GPU has finished.
  virtual void Released(const TensorResource& resource) = 0;
};

// A root tensor (not an alias) and the first and last step that use it.
struct TensorLifetime {
  uint32_t tensor;
  uint32_t first;
  uint32_t last;
};

// Bytes allocated by Allocate().
struct AllocatedBytes {
  uint64_t planned = 0;
  uint64_t naive = 0;  // without sharing
  uint64_t live = 0;   // maximum live at once
};

// Owns the buffers and images of tensors and their memory allocations, shared with stores that
// adopt them. Destruction frees resources without other owners; the GPU must have finished using
// them.
class TensorStore {
 public:
  // Allocations are charged to `budget`. `plan` and `watch`, which may be null, must outlive the
  // store.
  TensorStore(const vulkan::Device& device, const Plan& plan, std::shared_ptr<MemoryBudget> budget,
              TensorWatch* watch = nullptr)
      : TensorStore(device, plan, std::move(budget), watch, /*parent=*/nullptr) {}
  // Returns a store that also finds the tensors of `parent`, which must outlive it.
  // Several threads may extend the same store.
  static TensorStore Extending(const TensorStore& parent) {
    return {*parent.device_, *parent.plan_, parent.budget_, parent.watch_, &parent};
  }
  // As above, for a plan whose tensors have other sizes than those of the plan of `parent`. `plan`
  // must outlive the store.
  static TensorStore Extending(const TensorStore& parent, const Plan& plan) {
    return {*parent.device_, plan, parent.budget_, parent.watch_, &parent};
  }
  // What allocations are charged to.
  const std::shared_ptr<MemoryBudget>& budget() const { return budget_; }
  TensorStore(const TensorStore&) = delete;
  TensorStore& operator=(const TensorStore&) = delete;
  ~TensorStore();

  // Creates a buffer or image per tensor. Tensors whose lifetimes do not overlap may share memory.
  // Empty tensors have no resource.
  Result<AllocatedBytes> Allocate(std::span<const TensorLifetime> tensors, vulkan::MemoryUse use);
  // As above, in the memory of an arena.
  Result<AllocatedBytes> Allocate(std::span<const TensorLifetime> tensors, MemoryArena& arena);
  // As above, for tensors that are all live at the same time.
  Result<AllocatedBytes> Allocate(std::span<const uint32_t> tensors, vulkan::MemoryUse use);
  Result<AllocatedBytes> Allocate(std::span<const uint32_t> tensors, MemoryArena& arena);

  // Uses the resource of another store for the root `tensor`.
  void Adopt(uint32_t tensor, std::shared_ptr<TensorResource> resource);
  // Returns the resource of the root `tensor`, for Adopt() of another store. Null for empty
  // tensors.
  std::shared_ptr<TensorResource> Share(uint32_t tensor) const;

  // Returns the resource of `tensor`, which may be an alias. Null for empty tensors.
  const TensorResource* Find(uint32_t tensor) const;

 private:
  TensorStore(const vulkan::Device& device, const Plan& plan, std::shared_ptr<MemoryBudget> budget,
              TensorWatch* watch, const TensorStore* parent)
      : device_(&device),
        plan_(&plan),
        budget_(std::move(budget)),
        watch_(watch),
        parent_(parent) {}

  // Tensors that share allocations, and their resources.
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
