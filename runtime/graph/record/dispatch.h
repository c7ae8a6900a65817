// The dispatches and pipelines of a plan.
#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_DISPATCH_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_DISPATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/plan/plan_specializer.h"
#include "runtime/vulkan/pipeline.h"
#include "spirloom/status.h"

namespace spirloom::graph {

inline constexpr uint32_t kBufferCopy = UINT32_MAX;

// A command: a dispatch, or, if `pipeline` is kBufferCopy, a copy of tensors[0] to tensors[1].
struct Dispatch {
  uint32_t node = 0;                      // index into Plan::nodes
  uint32_t index = 0;                     // index into PlanNode::dispatches
  uint32_t pipeline = 0;                  // index into DispatchList::pipelines
  std::vector<uint32_t> tensors;          // tensor of binding i, or kNoTensor
  std::span<const std::byte> push;        // view into the plan or its values
  std::array<uint32_t, 3> invocations{};  // as requested by the kernel
  std::array<uint32_t, 3> workgroup{};
  std::array<uint32_t, 3> groups{};
  uint64_t estimated_ns = 0;  // EstimateNanoseconds()
  bool divisible = false;     // the pipeline supports slices (run_segments.h)
};

struct DispatchList {
  std::vector<Dispatch> dispatches;             // in the order of the plan's nodes
  std::vector<vulkan::PipelineDesc> pipelines;  // distinct; refer to the shader library
};

// Returns the workgroup counts. A one-dimensional grid that exceeds maxComputeWorkGroupCount[0] is
// folded into x and y. Fails with kUnsupported if the grid is still too large.
Result<std::array<uint32_t, 3>> GroupCounts(const std::array<int64_t, 3>& invocations,
                                            const std::array<uint32_t, 3>& workgroup,
                                            const DeviceTraits& device);

// Returns the nonempty dispatches; they refer to `plan`. Dispatches that may take longer than
// `max_ns` nanoseconds (0: unlimited) are divisible. Fails, with the name of the node, with
// kUnsupported if the grid exceeds the device limits, and with kInternal if registry and variant
// disagree.
Result<DispatchList> BuildDispatches(const Plan& plan, const DeviceTraits& device,
                                     uint64_t max_ns = 0);

// Returns `dispatches` for other values of the plan. BuildDispatches() returned them, or more, and
// `pipelines` for `plan` and `max_ns`; all those of a node must be included. The result refers to
// `values`. It contains the pipelines that are missing in `pipelines`; their indices follow. Null
// if a dispatch exceeds the device limits, or if the divisible ones are others.
std::optional<DispatchList> SpecializeDispatches(const Plan& plan,
                                                 std::span<const vulkan::PipelineDesc> pipelines,
                                                 const std::vector<Dispatch>& dispatches,
                                                 const PlanValues& values,
                                                 const DeviceTraits& device, uint64_t max_ns);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_DISPATCH_H_
