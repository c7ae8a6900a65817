#include "runtime/graph/record/dispatch.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/graph/plan/binding_counts.h"
#include "runtime/graph/record/dispatch_cost.h"
#include "runtime/graph/record/pipeline_key.h"
#include "runtime/pack/capability.h"
#include "runtime/pack/image_types.h"

namespace spirloom::graph {
namespace {

constexpr uint32_t kLargeWorkgroup = 256;

// Returns the kernel's workgroup size, or 256 x 1 x 1 for large grids of kernels that support any
// size: many small workgroups with few instructions are limited by the launch rate of the GPU.
std::array<uint32_t, 3> WorkgroupOf(const pack::VariantRow& row,
                                    const std::vector<DispatchValues>& dispatches,
                                    const DeviceTraits& device) {
  const bool may_be_large = row.any_workgroup_size != 0 && !device.properties.is_cpu &&
                            row.workgroup[0] < kLargeWorkgroup &&
                            kLargeWorkgroup <= device.max_workgroup[0] &&
                            kLargeWorkgroup <= device.max_workgroup_invocations;
  const auto is_large = [&](const DispatchValues& values) {
    return values.invocations[0] >= device.large_grid_per_core * device.properties.cores;
  };
  const bool use_large = may_be_large && std::ranges::any_of(dispatches, is_large);
  return {use_large ? kLargeWorkgroup : row.workgroup[0], row.workgroup[1], row.workgroup[2]};
}

// Sets the grid and the push constants.
Status SetValues(const DispatchValues& values, const DeviceTraits& device, Dispatch& dispatch) {
  SPIRLOOM_TRY_ASSIGN(dispatch.groups, GroupCounts(values.invocations, dispatch.workgroup, device));
  for (size_t k = 0; k < 3; ++k) {
    dispatch.invocations[k] = static_cast<uint32_t>(values.invocations[k]);
  }
  dispatch.push = values.push;
  return Status();
}

// The index of a pipeline, and the workgroup size and specialization constants of another one.
using PipelineVariation = std::tuple<uint32_t, std::array<uint32_t, 3>, std::vector<uint32_t>>;

// Returns the index of the pipeline among `pipelines` and, following them, `added`, to which it is
// added if it is new.
uint32_t VaryPipeline(std::span<const vulkan::PipelineDesc> pipelines,
                      const PipelineVariation& variation,
                      std::vector<vulkan::PipelineDesc>& added) {
  const auto& [original, workgroup, constants] = variation;
  vulkan::PipelineDesc desc = pipelines[original];
  desc.workgroup = workgroup;
  desc.constants = constants;
  const PipelineKey key = KeyOf(desc);
  const auto found = std::ranges::find(pipelines, key, KeyOf);
  if (found != pipelines.end()) return static_cast<uint32_t>(found - pipelines.begin());
  const auto other = std::ranges::find(added, key, KeyOf);
  const auto index = static_cast<size_t>(other - added.begin());
  if (other == added.end()) added.push_back(std::move(desc));
  return static_cast<uint32_t>(pipelines.size() + index);
}

class Builder {
 public:
  Builder(const Plan& plan, const DeviceTraits& device, uint64_t max_ns)
      : plan_(plan), device_(device), max_ns_(max_ns) {}

  Result<DispatchList> Build() {
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlanNode& node = plan_.nodes[i];
      if (node.op == nullptr) {
        AddCopy(i);
      } else {
        SPIRLOOM_TRY_WHILE(AddDispatches(i), "dispatching node {} ({})", Quoted{node.name},
                           node.op->op->name);
      }
    }
    return std::move(list_);
  }

 private:
  void AddCopy(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    if (plan_.HaveSameAddress(node.operands[0][0], node.operands[1][0])) return;
    Dispatch copy;
    copy.node = static_cast<uint32_t>(index);
    copy.pipeline = kBufferCopy;
    copy.tensors = {node.operands[0][0], node.operands[1][0]};
    copy.estimated_ns = EstimateNanoseconds(plan_, copy, device_);
    list_.dispatches.push_back(std::move(copy));
  }

  Status AddDispatches(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    const std::array<uint32_t, 3> workgroup =
        WorkgroupOf(*node.variant.row, node.dispatches, device_);
    const size_t first = list_.dispatches.size();
    bool divisible = false;
    for (size_t i = 0; i < node.dispatches.size(); ++i) {
      if (i < node.in_place.size() && node.in_place[i]) continue;
      if (node.dispatches[i].is_empty()) continue;
      SPIRLOOM_TRY_ASSIGN(Dispatch dispatch, DispatchOf(node, workgroup, i));
      dispatch.node = static_cast<uint32_t>(index);
      dispatch.index = static_cast<uint32_t>(i);
      dispatch.estimated_ns = EstimateNanoseconds(plan_, dispatch, device_);
      divisible = divisible || (max_ns_ > 0 && dispatch.estimated_ns > max_ns_);
      list_.dispatches.push_back(std::move(dispatch));
    }
    if (list_.dispatches.size() == first) return Status();
    const uint32_t pipeline = FindPipeline(node, workgroup, divisible, AbsentFrom(node, first));
    for (size_t i = first; i < list_.dispatches.size(); ++i) {
      list_.dispatches[i].pipeline = pipeline;
      list_.dispatches[i].divisible = divisible;
    }
    return Status();
  }

  Result<Dispatch> DispatchOf(const PlanNode& node, const std::array<uint32_t, 3>& workgroup,
                              size_t i) {
    Dispatch dispatch;
    dispatch.workgroup = workgroup;
    SPIRLOOM_TRY(SetValues(node.dispatches[i], device_, dispatch));
    SPIRLOOM_TRY_ASSIGN(dispatch.tensors, Bind(node, i));
    return dispatch;
  }

  Result<std::vector<uint32_t>> Bind(const PlanNode& node, size_t i) {
    assert(node.operands.size() == node.kernel->operands.size());
    std::vector<uint32_t> tensors;
    // A dispatch binds as many consecutive elements of a list as the kernel has operands for it;
    // the last dispatch binds those that are left.
    const auto lists = static_cast<size_t>(
        std::ranges::count(node.kernel->operands, true, &ops::OperandInfo::list));
    size_t next = i * lists;
    for (size_t k = 0; k < node.operands.size(); ++k) {
      const ops::OperandInfo& operand = node.kernel->operands[k];
      const size_t element = operand.list ? next++ : 0;
      const bool absent = element >= node.operands[k].size();
      if (absent && (!operand.list || element == i * lists)) {
        return Error(StatusCode::kInternal,
                     "Dispatch {} binds element {} of {}, which has {} elements.", i, element,
                     operand.name, node.operands[k].size());
      }
      const pack::BindingType type = BindingTypeOf(node, k);
      const Storage bound = pack::StorageOf(type);
      uint32_t tensor = absent ? kNoTensor : node.operands[k][element];
      if (tensor == kNoTensor && IsTexture(bound)) tensor = PlaceholderTexture(type, node);
      const Storage storage =
          tensor == kNoTensor ? Storage::kBuffer : plan_.tensors[tensor].storage();
      if (bound != storage) {
        return Error(StatusCode::kInternal,
                     "Variant {} binds {} as a {}, but the tensor is in a {}.", node.variant.name,
                     operand.name, Name(bound), Name(storage));
      }
      tensors.push_back(tensor);
    }
    return tensors;
  }

  // Vulkan requires a valid descriptor also for an absent texture, which the kernel does not read:
  // returns the first operand of the same type. The code generator rejects specs without one
  // (spec_model/load/operands.py).
  static uint32_t PlaceholderTexture(pack::BindingType type, const PlanNode& node) {
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if (BindingTypeOf(node, k) != type || node.operands[k].empty()) continue;
      if (node.operands[k][0] != kNoTensor) return node.operands[k][0];
    }
    return kNoTensor;
  }

  static pack::BindingType BindingTypeOf(const PlanNode& node, size_t k) {
    return static_cast<pack::BindingType>(node.variant.row->bindings[k]);
  }

  // Returns the operands that all dispatches of a node from `first` on lack. They are bound to a
  // small buffer, unless the kernel then binds more than the device allows.
  pack::BindingSet AbsentFrom(const PlanNode& node, size_t first) const {
    const pack::VariantRow& row = *node.variant.row;
    if (BindingCounts::Of(row).Fit(device_.bindings)) return 0;
    pack::BindingSet absent = ~pack::BindingSet{0};
    for (size_t i = first; i < list_.dispatches.size(); ++i) {
      const std::vector<uint32_t>& tensors = list_.dispatches[i].tensors;
      for (size_t k = 0; k < tensors.size(); ++k) {
        if (tensors[k] != kNoTensor) absent &= ~(pack::BindingSet{1} << k);
      }
    }
    return absent;
  }

  uint32_t FindPipeline(const PlanNode& node, const std::array<uint32_t, 3>& workgroup,
                        bool divisible, pack::BindingSet absent) {
    const pack::VariantRow& row = *node.variant.row;
    vulkan::PipelineDesc desc;
    desc.name = std::string(node.variant.name);
    desc.module = node.variant.module;
    desc.bindings = pack::BindingTypesOf(row);
    desc.absent = absent;
    desc.push_bytes = row.push_bytes;
    desc.workgroup = workgroup;
    desc.constants = node.constants;
    if (divisible) desc.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
    if ((row.needs & pack::CapabilityBit(pack::Capability::kCooperativeMatrix)) != 0)
      desc.subgroup_size = pack::kMatrixSubgroupSize;
    const auto next = static_cast<uint32_t>(list_.pipelines.size());
    auto [found, added] = pipelines_.emplace(KeyOf(desc), next);
    if (added) list_.pipelines.push_back(std::move(desc));
    return found->second;
  }

  const Plan& plan_;
  const DeviceTraits& device_;
  const uint64_t max_ns_;
  DispatchList list_;
  std::map<PipelineKey, uint32_t> pipelines_;
};

}  // namespace

Result<std::array<uint32_t, 3>> GroupCounts(const std::array<int64_t, 3>& invocations,
                                            const std::array<uint32_t, 3>& workgroup,
                                            const DeviceTraits& device) {
  constexpr int64_t kMaxInvocations = std::numeric_limits<int32_t>::max();
  std::array<uint64_t, 3> groups{};
  for (size_t i = 0; i < 3; ++i) {
    if (invocations[i] < 0 || invocations[i] > kMaxInvocations) {
      return Error(StatusCode::kUnsupported,
                   "Grid has {} invocations in dimension {}; expected 0 to 2147483647.",
                   invocations[i], i);
    }
    assert(workgroup[i] > 0);
    groups[i] = (static_cast<uint64_t>(invocations[i]) + workgroup[i] - 1) / workgroup[i];
  }
  const bool flat =
      invocations[1] == 1 && invocations[2] == 1 && workgroup[1] == 1 && workgroup[2] == 1;
  if (flat && device.max_group_count[0] > 0 && groups[0] > device.max_group_count[0]) {
    groups[1] = (groups[0] + device.max_group_count[0] - 1) / device.max_group_count[0];
    groups[0] = (groups[0] + groups[1] - 1) / groups[1];
    // Kernels compare the index of an invocation with the size as int. Folding adds invocations.
    if (groups[0] * groups[1] * workgroup[0] > uint64_t{1} << 31) {
      return Error(StatusCode::kUnsupported,
                   "Grid of {} invocations exceeds 2^31 after it is divided into {} rows, because "
                   "the device's maxComputeWorkGroupCount is {}.",
                   invocations[0], groups[1], device.max_group_count[0]);
    }
  }
  std::array<uint32_t, 3> counts{};
  for (size_t i = 0; i < 3; ++i) {
    if (groups[i] > device.max_group_count[i]) {
      return Error(
          StatusCode::kUnsupported,
          "Grid ({} groups in dimension {}) exceeds the device's maxComputeWorkGroupCount ({}).",
          groups[i], i, device.max_group_count[i]);
    }
    counts[i] = static_cast<uint32_t>(groups[i]);
  }
  return counts;
}

Result<DispatchList> BuildDispatches(const Plan& plan, const DeviceTraits& device,
                                     uint64_t max_ns) {
  return Builder(plan, device, max_ns).Build();
}

std::optional<DispatchList> SpecializeDispatches(const Plan& plan,
                                                 std::span<const vulkan::PipelineDesc> pipelines,
                                                 const std::vector<Dispatch>& dispatches,
                                                 const PlanValues& values,
                                                 const DeviceTraits& device, uint64_t max_ns) {
  DispatchList list{dispatches, {}};
  std::map<PipelineVariation, uint32_t> variations;
  bool divisible = false;  // of the dispatches of the current node so far
  for (size_t i = 0; i < list.dispatches.size(); ++i) {
    Dispatch& dispatch = list.dispatches[i];
    const PlanNode& node = plan.nodes[dispatch.node];
    const CallValues* found = node.call == kNoCall ? nullptr : values.calls[node.call];
    if (found == nullptr && node.op != nullptr) continue;
    if (found != nullptr) {
      const auto workgroup = WorkgroupOf(*node.variant.row, found->dispatches, device);
      if (workgroup != dispatch.workgroup || found->constants != node.constants) {
        dispatch.workgroup = workgroup;
        const auto [known, is_new] =
            variations.try_emplace({dispatch.pipeline, workgroup, found->constants});
        if (is_new) known->second = VaryPipeline(pipelines, known->first, list.pipelines);
        dispatch.pipeline = known->second;
      }
      if (!SetValues(found->dispatches[dispatch.index], device, dispatch).ok()) return std::nullopt;
    }
    uint64_t bytes = 0;
    for (const uint32_t tensor : dispatch.tensors) {
      if (tensor != kNoTensor) bytes += values.tensors[tensor].size;
    }
    dispatch.estimated_ns =
        EstimateNanoseconds(bytes, found == nullptr ? 0 : found->loop_iterations, dispatch, device);
    divisible = divisible || (node.op != nullptr && max_ns > 0 && dispatch.estimated_ns > max_ns);
    const bool is_last =
        i + 1 == list.dispatches.size() || list.dispatches[i + 1].node != dispatch.node;
    if (is_last && divisible != dispatch.divisible) return std::nullopt;
    if (is_last) divisible = false;
  }
  return list;
}

}  // namespace spirloom::graph
