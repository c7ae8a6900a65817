// The constants of a graph file on a device.
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_WEIGHTS_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/graph/constants/constant_pool.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/memory/memory_budget.h"
#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/pipeline.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// The constants that one plan binds. Owns them together with the sets of other plans of the file.
struct WeightSet {
  std::unique_ptr<TensorStore> store;       // never null
  std::unordered_set<VkImage> initialized;  // images in VK_IMAGE_LAYOUT_GENERAL
  // The memory of the constants that no earlier plan had prepared.
  std::vector<std::weak_ptr<const vulkan::DeviceMemory>> allocations;
};

// Uploads, packs and shares the constants of a graph file: all plans of its methods and shapes use
// one copy per layout. Owns or borrows the file until no plan can need it. Thread-safe.
class Weights {
 public:
  // Memory is charged to `budget`. `is_direct`: the host writes constants to mapped device memory;
  // else they are copied from staging buffers. `watch` may be null; it must outlive the sets.
  static Result<std::unique_ptr<Weights>> Create(const vulkan::Device& device,
                                                 std::shared_ptr<MemoryBudget> budget,
                                                 const GraphSource& source, bool is_direct,
                                                 TensorWatch* watch);

  // Returns the constants of `plan`, which must outlive the result: those that another set owns are
  // shared, the others are uploaded or computed by the constant nodes among `dispatches`. Waits for
  // the device. Fails at once with kOutOfMemory if they and `further_bytes`, a lower bound of what
  // the caller allocates afterwards, exceed the free memory. On failure, nothing stays allocated.
  Result<WeightSet> Prepare(const Graph& graph, const Plan& plan,
                            std::span<const Dispatch> dispatches,
                            const std::function<const vulkan::ComputePipeline&(uint32_t)>& pipeline,
                            uint64_t further_bytes);

  // Parses another method of the file. Fails with kNotFound if it does not exist.
  Result<std::unique_ptr<const Graph>> ParseMethod(std::string_view method) const;

  // Whether the file of a method is read after the method has been prepared: for other shapes, or
  // for other methods.
  static bool IsFileNeededLater(const Graph& graph);
  // Releases the bytes of the file, with the constants of `graph`, unless the file has other
  // methods. `graph` must have been prepared for all shapes that it will have.
  void ReleaseUnneeded(const Graph& graph);

  // Bound for absent and empty tensors; never accessed.
  const vulkan::Buffer& dummy() const { return dummy_; }

 private:
  Weights(const vulkan::Device& device, std::shared_ptr<MemoryBudget> budget,
          const GraphSource& source, bool is_direct, TensorWatch* watch, vulkan::Buffer dummy);

  const vulkan::Device& device_;
  const std::shared_ptr<MemoryBudget> budget_;
  const bool is_direct_;
  TensorWatch* const watch_;
  const vulkan::Buffer dummy_;
  mutable std::mutex mutex_;  // protects the following members
  GraphSource source_;
  ConstantPool pool_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_WEIGHTS_H_
