#include "tests/fuzz/plan_stages.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/constants/constant_folding_plan.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/graph/plan/plan_specializer.h"
#include "runtime/graph/plan/verify_plan.h"
#include "runtime/pack/image_types.h"
#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/memory_stages.h"
#include "tests/support/plan_difference.h"

namespace spirloom::fuzz {
namespace {

using graph::Dispatch;
using graph::DispatchList;
using graph::kBufferCopy;
using graph::kNoTensor;
using graph::Plan;
using graph::PlanTensor;

// The bytes of a root that a binding makes accessible to a shader.
struct Window {
  uint64_t begin;
  uint64_t end;
};

Window WindowOf(const Plan& plan, uint32_t index) {
  const PlanTensor& tensor = plan.tensors[index];
  return {tensor.alias_offset, tensor.alias_offset + tensor.buffer_size()};
}

void CheckBinding(const Plan& plan, uint32_t index, pack::BindingType type,
                  const graph::DeviceTraits& device) {
  if (index == kNoTensor) {
    Require(!IsTexture(pack::StorageOf(type)), "a buffer is not bound as a texture");
    return;
  }
  Require(index < plan.tensors.size(), "a binding refers to a tensor");
  const PlanTensor& tensor = plan.tensors[index];
  Require(tensor.storage() == pack::StorageOf(type), "a tensor is bound with its storage type");
  if (IsTexture(tensor.storage()) || tensor.size == 0) return;
  const Window window = WindowOf(plan, index);
  Require(window.begin % device.buffer_offset_alignment == 0, "a binding's offset is aligned");
  Require(window.end <= plan.tensors[plan.Root(index)].buffer_size(),
          "a binding is within its root");
  Require(tensor.buffer_size() <= device.max_storage_buffer_range,
          "a binding fits maxStorageBufferRange");
}

void CheckGrid(const Dispatch& dispatch, const graph::DeviceTraits& device) {
  uint64_t lanes = 1;
  for (size_t i = 0; i < 3; ++i) {
    Require(dispatch.groups[i] > 0 && dispatch.groups[i] <= device.max_group_count[i],
            "the workgroup count is within the device's limit");
    Require(dispatch.workgroup[i] > 0 && dispatch.workgroup[i] <= device.max_workgroup[i],
            "the workgroup size is within the device's limit");
    lanes *= dispatch.workgroup[i];
  }
  Require(lanes <= device.max_workgroup_invocations, "the invocations are within the limit");
  const auto covered = [&](size_t i) {
    return uint64_t{dispatch.groups[i]} * dispatch.workgroup[i] >= dispatch.invocations[i];
  };
  const bool flat = dispatch.invocations[1] == 1 && dispatch.invocations[2] == 1;
  const uint64_t all = uint64_t{dispatch.groups[0]} * dispatch.groups[1] * dispatch.workgroup[0];
  Require(flat ? all >= dispatch.invocations[0] : covered(0) && covered(1) && covered(2),
          "the workgroups cover the grid");
}

void CheckCopy(const Plan& plan, const Dispatch& dispatch) {
  Require(dispatch.tensors.size() == 2, "a copy has two tensors");
  const PlanTensor& source = plan.tensors[dispatch.tensors[0]];
  const PlanTensor& target = plan.tensors[dispatch.tensors[1]];
  Require(source.storage() == Storage::kBuffer && target.storage() == Storage::kBuffer,
          "copies are between buffers");
  Require(source.size > 0 && source.size <= target.size, "the target of a copy is large enough");
}

// The written bytes of root tensors.
class Written {
 public:
  explicit Written(const Plan& plan) : plan_(plan), windows_(plan.tensors.size()) {}

  void Add(uint32_t tensor) { windows_[plan_.Root(tensor)].push_back(WindowOf(plan_, tensor)); }
  bool Has(uint32_t tensor) const {
    const Window read = WindowOf(plan_, tensor);
    const PlanTensor& root = plan_.tensors[plan_.Root(tensor)];
    if (root.constant >= 0 || root.input >= 0 || root.state >= 0) return true;
    return std::ranges::any_of(windows_[plan_.Root(tensor)], [&](const Window& written) {
      return written.begin < read.end && read.begin < written.end;
    });
  }

 private:
  const Plan& plan_;
  std::vector<std::vector<Window>> windows_;
};

}  // namespace

void CheckDispatches(const Plan& plan, const DispatchList& list,
                     const graph::DeviceTraits& device) {
  for (const Dispatch& dispatch : list.dispatches) {
    Require(dispatch.node < plan.nodes.size(), "a dispatch refers to a node");
    if (dispatch.pipeline == kBufferCopy) {
      CheckCopy(plan, dispatch);
      continue;
    }
    Require(dispatch.pipeline < list.pipelines.size(), "a dispatch has a pipeline");
    const pack::VariantRow& row = *plan.nodes[dispatch.node].variant.row;
    Require(dispatch.tensors.size() == row.binding_count, "a module's bindings are bound");
    Require(dispatch.push.size() == row.push_bytes, "push constants have the module's size");
    Require(list.pipelines[dispatch.pipeline].constants.size() == row.constant_count,
            "specialization constants match the module");
    for (size_t i = 0; i < dispatch.tensors.size(); ++i) {
      CheckBinding(plan, dispatch.tensors[i], static_cast<pack::BindingType>(row.bindings[i]),
                   device);
    }
    CheckGrid(dispatch, device);
  }
}

void CheckReadsFollowWrites(const Plan& plan, const DispatchList& list) {
  Written written(plan);
  for (const Dispatch& dispatch : list.dispatches) {
    for (const Binding& binding : BindingsOf(plan, dispatch)) {
      if (binding.read && !binding.write && plan.tensors[binding.tensor].size > 0) {
        Require(written.Has(binding.tensor), "all read bytes were written");
      }
    }
    for (const Binding& binding : BindingsOf(plan, dispatch)) {
      if (binding.write) written.Add(binding.tensor);
    }
  }
  for (uint32_t tensor : plan.outputs) {
    Require(plan.tensors[tensor].size == 0 || written.Has(tensor), "every output is computed");
  }
}

bool RunStages(const graph::Graph& graph, const ops::OpIndex& index, const FuzzedDevice& device,
               bool well_formed_ops) {
  graph::CompileOptions options = device.options;
  options.after_pass = [&](std::string_view, const Plan& plan) {
    const Status valid = VerifyPlan(plan, device.traits);
    Require(valid.ok(), valid.message().c_str());
  };
  const auto plan = Compile(graph, index, device.traits, options);
  if (!plan.ok()) {
    Require(!plan.status().message().empty(), "an error has a message");
    return false;
  }
  const auto list = BuildDispatches(*plan, device.traits);
  if (!list.ok()) {
    Require(!list.status().message().empty(), "an error has a message");
    return false;
  }
  const auto copies = std::ranges::count(list->dispatches, kBufferCopy, &Dispatch::pipeline);
  Require(list->dispatches.size() - static_cast<size_t>(copies) <= device.options.max_dispatches,
          "the dispatches are within the limit");
  CheckDispatches(*plan, *list, device.traits);
  if (well_formed_ops) CheckReadsFollowWrites(*plan, *list);
  graph::ConstantFoldingPlan folding = PlanConstantFolding(*plan, list->dispatches);
  RemoveUnusedDispatches(*plan, folding);
  return PlaceInMemory(*plan, *list, device);
}

bool CheckSpecialization(const graph::Graph& graph, const graph::Graph& special,
                         std::span<const int64_t> symbols, const ops::OpIndex& index,
                         const FuzzedDevice& device) {
  graph::LoweringTrace trace;
  graph::CompileOptions options = device.options;
  options.trace = &trace;
  const auto plan = Compile(graph, index, device.traits, options);
  if (!plan.ok() || !trace.is_complete) return false;
  const auto list = BuildDispatches(*plan, device.traits);
  if (!list.ok()) return false;
  const graph::PlanSpecializer specializer(*plan, std::move(trace), index, device.traits,
                                           options.kernels);
  const auto values = specializer.Evaluate(graph, symbols, options.tuned.get());
  if (!values) return false;
  const auto expected = Compile(special, index, device.traits, device.options);
  Require(expected.ok(), "the graph can be compiled for the sizes of a specialized plan");
  const std::string difference = testing::DifferenceOf(specializer.Apply(*values), *expected);
  Require(difference.empty(), difference.c_str());
  const auto dispatches =
      SpecializeDispatches(*plan, list->pipelines, list->dispatches, *values, device.traits, 0);
  if (!dispatches) return false;
  const auto built = BuildDispatches(*expected, device.traits);
  Require(built.ok(), "dispatches can be built for the sizes of specialized ones");
  std::vector<vulkan::PipelineDesc> pipelines = list->pipelines;
  pipelines.insert(pipelines.end(), dispatches->pipelines.begin(), dispatches->pipelines.end());
  const std::string found = testing::DifferenceOf(dispatches->dispatches, pipelines, *built);
  Require(found.empty(), found.c_str());
  return true;
}

}  // namespace spirloom::fuzz
