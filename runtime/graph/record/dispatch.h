// What a plan dispatches, and the pipelines it takes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_DISPATCH_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_DISPATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/vulkan/pipeline.h"
#include "spirloom/status.h"

namespace spirloom::graph {

inline constexpr uint32_t kBufferCopy = UINT32_MAX;

// One command: a dispatch, or with `pipeline` kBufferCopy a copy of tensors[0] to tensors[1].
struct Dispatch {
  uint32_t node = 0;                      // index into Plan::nodes
  uint32_t pipeline = 0;                  // index into DispatchList::pipelines
  std::vector<uint32_t> tensors;          // binding i; kNoTensor: nothing
  std::span<const std::byte> push;        // the plan's
  std::array<uint32_t, 3> invocations{};  // as the kernel asks for
  std::array<uint32_t, 3> workgroup{};
  std::array<uint32_t, 3> groups{};
};

struct DispatchList {
  std::vector<Dispatch> dispatches;             // in the order of the plan's nodes
  std::vector<vulkan::PipelineDesc> pipelines;  // distinct; refer to the shader library
};

// The group counts for these invocations. A one-dimensional grid of more groups than the device
// takes in x goes on in y. Fails with kUnsupported for a grid that is still too large.
Result<std::array<uint32_t, 3>> GroupCounts(const std::array<int64_t, 3>& invocations,
                                            const std::array<uint32_t, 3>& workgroup,
                                            const DeviceTraits& device);

// Dispatches with nothing to do are left out. The list refers to `plan`. Fails, naming the node,
// with kUnsupported for a grid that the device cannot dispatch, with kInternal when registry and
// variant disagree.
Result<DispatchList> BuildDispatches(const Plan& plan, const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_DISPATCH_H_
