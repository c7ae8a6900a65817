// Uploads a plan's constants, and runs the nodes that depend only on constants (weight packing,
// layout copies, casts).
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_WEIGHT_UPLOADER_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_WEIGHT_UPLOADER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "runtime/graph/constants/constant_pool.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/memory.h"
#include "spirloom/status.h"

namespace spirloom::graph {

struct WeightUploadInputs {
  const vulkan::Device& device;
  const Graph& graph;
  const Plan& plan;
  std::span<const Dispatch> dispatches;  // all dispatches of the plan
  std::function<const vulkan::ComputePipeline&(uint32_t)> pipeline;
  const vulkan::Buffer& dummy;
  bool host_maps_constants;  // else constants are copied from staging buffers
  ConstantPool& pool;        // its constants are shared; the others are added to it
  // Lower bound of the device memory that the caller allocates afterwards: fails at once if not all
  // can be allocated.
  uint64_t further_bytes = 0;
  // Maximum bytes of constants in host-visible memory at a time.
  uint64_t batch_bytes = uint64_t{16} << 20;
};

struct WeightUploadResult {
  // The memory that was allocated for constants, each block once.
  std::vector<std::weak_ptr<const vulkan::DeviceMemory>> allocations;
  // Images of constants. Their layout is VK_IMAGE_LAYOUT_GENERAL.
  std::unordered_set<VkImage> initialized;
};

// Allocates and fills in `store` every constant that a run binds and that `inputs.pool` does not
// contain; adopts the others. Intermediate constants are temporary, in batches of bounded size.
Result<WeightUploadResult> UploadWeights(const WeightUploadInputs& inputs, TensorStore& store);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_WEIGHT_UPLOADER_H_
