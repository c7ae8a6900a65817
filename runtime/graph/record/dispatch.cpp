#include "runtime/graph/record/dispatch.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/graph/plan/call_frame.h"
#include "runtime/graph/record/pipeline_key.h"
#include "runtime/ops/call_formulas.h"
#include "runtime/pack/image_types.h"

namespace spirloom::graph {
namespace {

constexpr int64_t kMaxRepeat = 65536;

class Builder {
 public:
  Builder(const Plan& plan, const DeviceTraits& device) : plan_(plan), device_(device) {}

  Result<DispatchList> Build() {
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlanNode& node = plan_.nodes[i];
      Status status = node.op == nullptr ? AddCopy(i) : AddDispatches(i);
      const std::string op = node.op == nullptr ? "copy" : node.op->op->name;
      SPIRLOOM_TRY(
          std::move(status).While(Concat({"dispatching node ", Quote(node.name), " (", op, ")"})));
    }
    return std::move(list_);
  }

 private:
  Status AddCopy(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    Dispatch copy;
    copy.node = static_cast<uint32_t>(index);
    copy.pipeline = kBufferCopy;
    copy.tensors = {node.operands[0][0], node.operands[1][0]};
    list_.dispatches.push_back(std::move(copy));
    return Status();
  }

  Status AddDispatches(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    const ops::KernelInfo& kernel = *node.kernel;
    const CallFrame frame(*node.op->op, node.args, node.outputs, plan_.tensors);
    ops::CallFormulas formulas(*node.op->op, frame.call(), device_.facts);
    const int64_t repeat = formulas.Repeat(kernel);
    SPIRLOOM_TRY(formulas.status());
    if (repeat < 0 || repeat > kMaxRepeat) {
      return Error(StatusCode::kUnsupported,
                   {"Number of dispatches (", repeat, ") is not within 0 and ", kMaxRepeat, "."});
    }
    for (int64_t i = 0; i < repeat; ++i) {
      if (static_cast<size_t>(i) < node.in_place.size() && node.in_place[static_cast<size_t>(i)]) {
        continue;
      }
      std::array<int64_t, 3> invocations{0, 0, 0};
      formulas.Grid(kernel, node.storage, i, invocations);
      SPIRLOOM_TRY(formulas.status());
      if (std::find(invocations.begin(), invocations.end(), 0) != invocations.end()) continue;
      SPIRLOOM_TRY(AddDispatch(index, formulas, i, invocations));
    }
    return Status();
  }

  Status AddDispatch(size_t index, ops::CallFormulas& formulas, int64_t i,
                     const std::array<int64_t, 3>& invocations) {
    const PlanNode& node = plan_.nodes[index];
    const pack::VariantRow& row = *node.variant.row;
    Dispatch dispatch;
    dispatch.node = static_cast<uint32_t>(index);
    dispatch.workgroup =
        FitWorkgroup({row.workgroup[0], row.workgroup[1], row.workgroup[2]}, device_);
    SPIRLOOM_TRY_ASSIGN(dispatch.groups, GroupCounts(invocations, dispatch.workgroup, device_));
    for (size_t k = 0; k < 3; ++k) dispatch.invocations[k] = static_cast<uint32_t>(invocations[k]);
    SPIRLOOM_TRY_ASSIGN(dispatch.tensors, Bind(node, i));
    dispatch.push.resize(row.push_bytes);
    formulas.Push(*node.kernel, node.storage, i, dispatch.push);
    std::vector<uint32_t> constants(row.constant_count);
    formulas.Constants(*node.kernel, constants);
    SPIRLOOM_TRY(formulas.status());
    dispatch.pipeline = FindPipeline(node.variant, dispatch.workgroup, std::move(constants));
    list_.dispatches.push_back(std::move(dispatch));
    return Status();
  }

  Result<std::vector<uint32_t>> Bind(const PlanNode& node, int64_t i) {
    std::vector<uint32_t> tensors;
    for (size_t k = 0; k < node.operands.size(); ++k) {
      const ops::OperandInfo& operand = node.kernel->operands[k];
      const size_t element = operand.list ? static_cast<size_t>(i) : 0;
      if (element >= node.operands[k].size()) {
        return Error(StatusCode::kInternal, {"Dispatch ", i, " binds an element of ", operand.name,
                                             ", which has ", node.operands[k].size(), "."});
      }
      const pack::BindingType type = BindingTypeOf(node, k);
      const Storage bound = pack::StorageOf(type);
      uint32_t tensor = node.operands[k][element];
      if (tensor == kNoTensor && IsTexture(bound)) tensor = AnyBoundAs(type, node);
      const Storage storage =
          tensor == kNoTensor ? Storage::kBuffer : plan_.tensors[tensor].storage();
      if (bound != storage) {
        return Error(StatusCode::kInternal,
                     {"Variant ", node.variant.name, " binds ", operand.name, " as a ", Name(bound),
                      ", but the tensor is in a ", Name(storage), "."});
      }
      tensors.push_back(tensor);
    }
    return tensors;
  }

  // What is bound in the place of an absent texture, which the kernel does not look at: the first
  // operand of its kind. Specs without one are refused when they are compiled
  // (codegen/operands.py).
  static uint32_t AnyBoundAs(pack::BindingType type, const PlanNode& node) {
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if (BindingTypeOf(node, k) != type || node.operands[k].empty()) continue;
      if (node.operands[k][0] != kNoTensor) return node.operands[k][0];
    }
    return kNoTensor;
  }

  static pack::BindingType BindingTypeOf(const PlanNode& node, size_t k) {
    return static_cast<pack::BindingType>(node.variant.row->bindings[k]);
  }

  uint32_t FindPipeline(const ops::Variant& variant, const std::array<uint32_t, 3>& workgroup,
                        std::vector<uint32_t> constants) {
    const pack::VariantRow& row = *variant.row;
    const std::span<const pack::BindingType> types = pack::BindingTypesOf(row);
    vulkan::PipelineDesc desc;
    desc.name = std::string(variant.name);
    desc.module = variant.module;
    desc.bindings = types;
    desc.push_bytes = row.push_bytes;
    desc.workgroup = workgroup;
    desc.constants = std::move(constants);
    const auto next = static_cast<uint32_t>(list_.pipelines.size());
    auto [found, added] = pipelines_.emplace(KeyOf(desc), next);
    if (added) list_.pipelines.push_back(std::move(desc));
    return found->second;
  }

  const Plan& plan_;
  const DeviceTraits& device_;
  DispatchList list_;
  std::map<PipelineKey, uint32_t> pipelines_;
};

}  // namespace

std::array<uint32_t, 3> FitWorkgroup(std::array<uint32_t, 3> wanted, const DeviceTraits& device) {
  for (size_t i = 0; i < 3; ++i) {
    wanted[i] = std::clamp(wanted[i], uint32_t{1}, std::max(device.max_workgroup[i], uint32_t{1}));
  }
  const auto product = [&] {
    return uint64_t{wanted[0]} * uint64_t{wanted[1]} * uint64_t{wanted[2]};
  };
  while (product() > std::max(device.max_workgroup_invocations, uint32_t{1})) {
    uint32_t& largest = *std::max_element(wanted.begin(), wanted.end());
    largest = (largest + 1) / 2;
  }
  return wanted;
}

Result<std::array<uint32_t, 3>> GroupCounts(const std::array<int64_t, 3>& invocations,
                                            const std::array<uint32_t, 3>& workgroup,
                                            const DeviceTraits& device) {
  constexpr int64_t kMaxInvocations = std::numeric_limits<int32_t>::max();
  std::array<uint64_t, 3> groups{};
  for (size_t i = 0; i < 3; ++i) {
    if (invocations[i] < 0 || invocations[i] > kMaxInvocations) {
      return Error(StatusCode::kUnsupported,
                   {"Grid (", invocations[i], " invocations in dimension ", i,
                    ") is not within 0 and 2147483647."});
    }
    groups[i] = (static_cast<uint64_t>(invocations[i]) + workgroup[i] - 1) / workgroup[i];
  }
  const bool flat =
      invocations[1] == 1 && invocations[2] == 1 && workgroup[1] == 1 && workgroup[2] == 1;
  if (flat && groups[0] > device.max_group_count[0]) {
    groups[1] = (groups[0] + device.max_group_count[0] - 1) / device.max_group_count[0];
    groups[0] = (groups[0] + groups[1] - 1) / groups[1];
  }
  std::array<uint32_t, 3> counts{};
  for (size_t i = 0; i < 3; ++i) {
    if (groups[i] > device.max_group_count[i]) {
      return Error(StatusCode::kUnsupported, {"Grid (", groups[i], " groups in dimension ", i,
                                              ") exceeds the device's maxComputeWorkGroupCount (",
                                              device.max_group_count[i], ")."});
    }
    counts[i] = static_cast<uint32_t>(groups[i]);
  }
  return counts;
}

Result<DispatchList> BuildDispatches(const Plan& plan, const DeviceTraits& device) {
  return Builder(plan, device).Build();
}

}  // namespace spirloom::graph
