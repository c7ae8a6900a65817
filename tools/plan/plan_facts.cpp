#include "tools/plan/plan_facts.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/model/execution_context.h"
#include "runtime/graph/record/traits_of_device.h"
#include "tools/plan/accessed_tensors.h"
#include "tools/plan/kernel_trials.h"
#include "tools/plan/work_estimate.h"

namespace spirloom::tools {
namespace {

using graph::Dispatch;
using graph::kNoTensor;
using graph::Plan;
using graph::PlanNode;
using graph::PlanTensor;
using nlohmann::ordered_json;

uint64_t BytesOf(const Plan& plan, const std::vector<uint32_t>& tensors) {
  uint64_t bytes = 0;
  for (const uint32_t tensor : tensors) bytes += plan.tensors[tensor].size;
  return bytes;
}

// Finds the trials of a node: those with its kernel and its name.
class TrialIndex {
 public:
  explicit TrialIndex(std::span<const graph::CallTrials> trials) {
    for (const graph::CallTrials& call : trials) {
      if (call.chosen != nullptr) by_kernel_[call.chosen].push_back(&call);
    }
  }

  const graph::CallTrials* Find(const PlanNode& node) const {
    const auto found = by_kernel_.find(node.kernel);
    if (found == by_kernel_.end()) return nullptr;
    for (const graph::CallTrials* call : found->second) {
      if (call->storage == node.storage && call->node.find(node.name) != std::string::npos) {
        return call;
      }
    }
    return nullptr;
  }

 private:
  std::unordered_map<const ops::KernelInfo*, std::vector<const graph::CallTrials*>> by_kernel_;
};

// Why ChooseKernel() took the kernel of a call.
std::string ReasonOf(const graph::CallTrials& call, const std::vector<std::string>& named) {
  size_t rejected = 0;
  bool possible_before = false;
  bool preferred_before = false;
  for (const graph::KernelTrial& trial : call.trials) {
    if (trial.kernel == call.chosen) break;
    const bool possible = trial.search.failure == graph::ChoiceFailure::kNone;
    if (!possible) ++rejected;
    possible_before |= possible;
    preferred_before |= trial.preferred;
  }
  const auto requested = std::find(named.begin(), named.end(), call.chosen->name);
  if (requested != named.end()) return "requested by name";
  if (preferred_before) return "the fastest of the kernels that tuning measured";
  std::string reason = "the first kernel that supports the call";
  if (possible_before || !call.chosen->prefer.empty()) {
    reason += " and that the spec prefers on this device";
  }
  if (rejected > 0) reason += "; " + std::to_string(rejected) + " before it were rejected";
  return reason;
}

const char* RoleOf(const PlanTensor& tensor) {
  if (tensor.input >= 0) return "input";
  if (tensor.output >= 0) return "output";
  if (tensor.state >= 0) return "state";
  return tensor.is_constant ? "constant" : "activation";
}

}  // namespace

ordered_json DispatchFacts(const Model& model, std::span<const graph::CallTrials> trials,
                           const std::vector<std::string>& named) {
  const internal::ExecutionContext& context = *model.context();
  const internal::CompiledGraph& compiled = context.compiled();
  const Plan& plan = compiled.plan();
  const graph::DeviceTraits device = graph::TraitsOf(context.device());
  const TrialIndex index(trials);
  std::unordered_map<uint32_t, size_t> per_node;
  for (const Dispatch& dispatch : compiled.dispatches) ++per_node[dispatch.node];

  ordered_json facts = ordered_json::array();
  for (const Dispatch& dispatch : compiled.dispatches) {
    const PlanNode& node = plan.nodes[dispatch.node];
    const std::vector<uint32_t> reads = AccessedTensors(plan, dispatch, /*write=*/false);
    const std::vector<uint32_t> writes = AccessedTensors(plan, dispatch, /*write=*/true);
    const double operations =
        OperationsOf(plan, node) / static_cast<double>(per_node[dispatch.node]);
    const graph::CallTrials* call = node.op == nullptr ? nullptr : index.Find(node);
    ordered_json considered = call == nullptr ? ordered_json::array() : TrialsToJson(*call, device);
    facts.push_back({{"node", node.name},
                     {"op", node.op == nullptr ? "copy" : node.op->op->name},
                     {"kernel", node.kernel == nullptr ? "buffer copy" : node.kernel->name},
                     {"variant", node.op == nullptr ? std::string("buffer copy")
                                                    : std::string(node.variant.name)},
                     {"storage", Name(node.storage)},
                     {"grid", dispatch.invocations},
                     {"workgroup", dispatch.workgroup},
                     {"reads", reads},
                     {"writes", writes},
                     {"bytes_read", BytesOf(plan, reads)},
                     {"bytes_written", BytesOf(plan, writes)},
                     {"operations", operations},
                     {"reason", call == nullptr ? "" : ReasonOf(*call, named)},
                     {"considered", considered}});
  }
  return facts;
}

ordered_json TensorFacts(const Model& model) {
  const internal::ExecutionContext& context = *model.context();
  const internal::RecordedGraph& recording = context.current();
  const Plan& plan = recording.compiled->plan();
  std::set<uint32_t> used;
  for (const Dispatch& dispatch : recording.compiled->dispatches) {
    for (const uint32_t tensor : dispatch.tensors) {
      if (tensor != kNoTensor) used.insert({tensor, plan.Root(tensor)});
    }
  }
  std::unordered_map<uint32_t, graph::TensorLifetime> lifetimes;
  for (const graph::TensorLifetime& lifetime : recording.compiled->lifetimes) {
    lifetimes[lifetime.tensor] = lifetime;
  }
  std::unordered_map<uint32_t, size_t> blocks;  // process-wide ids to indices
  ordered_json facts = ordered_json::array();
  for (const uint32_t id : used) {
    const PlanTensor& tensor = plan.tensors[id];
    ordered_json fact{
        {"id", id},
        {"name", tensor.name},
        {"dtype", ShortName(tensor.desc.dtype)},
        {"shape", std::vector<int64_t>(tensor.desc.shape.begin(), tensor.desc.shape.end())},
        {"storage", Name(tensor.storage())},
        {"bytes", tensor.size},
        {"role", RoleOf(tensor)}};
    if (tensor.alias_of != kNoTensor) {
      fact["alias_of"] = tensor.alias_of;
    } else if (const auto lifetime = lifetimes.find(id); lifetime != lifetimes.end()) {
      if (const graph::TensorResource* resource = recording.store->Find(id); resource != nullptr) {
        fact["block"] = blocks.try_emplace(resource->memory, blocks.size()).first->second;
        fact["offset"] = resource->begin;
        fact["allocated"] = resource->end - resource->begin;
        fact["first"] = lifetime->second.first;
        fact["last"] = lifetime->second.last;
      }
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

}  // namespace spirloom::tools
