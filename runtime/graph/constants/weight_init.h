// Brings a plan's constants and states onto the device: uploads them and runs the nodes that depend
// on constants alone (weight packing, layout copies, casts).
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_WEIGHT_INIT_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_WEIGHT_INIT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>

#include "runtime/graph/constants/constant_pool.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/vulkan/device.h"
#include "spirloom/status.h"

namespace spirloom::graph {

struct WeightInitInputs {
  const vulkan::Device& device;
  const Graph& graph;
  const Plan& plan;
  std::span<const Dispatch> dispatches;  // all of the plan's
  std::function<const vulkan::ComputePipeline&(uint32_t)> pipeline;
  const vulkan::Buffer& dummy;
  bool host_maps_constants;  // else they are copied from staging buffers
  ConstantPool& known;       // those of it are shared, not prepared again; gets the rest
  uint64_t state_set = 0;    // of which states are, in `known`
  // How much constant data is in host-visible memory at a time.
  uint64_t batch_bytes = uint64_t{16} << 20;
};

struct WeightInitResult {
  uint64_t constant_bytes = 0;  // on the device from now on
  uint64_t state_bytes = 0;     // likewise
  // Images of constants, which are in layout GENERAL from now on.
  std::unordered_set<VkImage> initialized;
};

// Puts into `store` every constant tensor that a run needs, filled, and every state, with its
// initial value unless `inputs.known` has it. Constants that only others are computed from are on
// the device for a moment, in batches of bounded size.
Result<WeightInitResult> InitializeWeights(const WeightInitInputs& inputs, TensorStore& store);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_WEIGHT_INIT_H_
