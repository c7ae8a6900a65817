// Compiles and records a graph.
#include <cassert>
#include <chrono>
#include <cstdint>
#include <utility>

#include "runtime/graph/constants/weight_uploader.h"
#include "runtime/graph/file/specialize.h"
#include "runtime/graph/model/host_copies.h"
#include "runtime/graph/model/host_interface.h"
#include "runtime/graph/model/model_state.h"
#include "runtime/graph/model/tuner.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/graph/plan/device_traits.h"

namespace spirloom::internal {
namespace {

using graph::Dispatch;
using graph::Plan;
using graph::PlanTensor;

uint64_t Nanoseconds(std::chrono::steady_clock::duration duration) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

// Returns the TensorInfos of graph tensors, with the shapes of the plan.
std::vector<TensorInfo> InfosOf(const graph::Graph& graph, const std::vector<uint32_t>& tensors,
                                const Plan& plan, const std::vector<uint32_t>& planned) {
  std::vector<TensorInfo> infos;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const graph::Tensor& tensor = graph.tensors[tensors[i]];
    const PlanTensor& found = plan.tensors[planned[i]];
    infos.push_back({tensor.name, tensor.dtype,
                     Shape(found.desc.shape.begin(), found.desc.shape.end()),
                     static_cast<size_t>(found.size), tensor.min, tensor.max,
                     graph::DescribeDims(graph, tensor)});
  }
  return infos;
}

// Builds a Recording in steps; each step uses the results of earlier ones.
class RecordingBuilder {
 public:
  RecordingBuilder(ModelState& state, const graph::Graph& graph) : state_(state), graph_(graph) {}

  Result<Recording> Build() {
    if (const Tuner* tuner = state_.options.tune; tuner != nullptr) {
      SPIRLOOM_TRY(tuner->tune(state_.runtime, graph_, state_.options));
    }
    const graph::CompileOptions lowering{.storage = state_.options.storage,
                                         .kernels = state_.options.kernels,
                                         .tuned = state_.runtime->tuning->kernels(),
                                         .max_dispatches = state_.limits.dispatches};
    SPIRLOOM_TRY_ASSIGN(plan_,
                        graph::Compile(graph_, state_.runtime->index, state_.traits, lowering));
    if (plan_.fallbacks > 0) {
      device().host().Log(
          LogLevel::kInfo,
          {"Nodes in another storage than requested, which has no kernel or is too small: ",
           plan_.fallbacks, ". First: ", plan_.first_fallback, "."});
    }
    SPIRLOOM_TRY_ASSIGN(list_, graph::BuildDispatches(plan_, state_.traits));
    for (const Dispatch& dispatch : list_.dispatches) {
      if (!plan_.nodes[dispatch.node].is_constant) run_.push_back(dispatch);
    }
    SPIRLOOM_TRY(CreatePipelines());
    recording_.store =
        std::make_unique<graph::TensorStore>(device(), plan_, state_.parts->budget, state_.watch);
    SPIRLOOM_TRY(PrepareWeights());
    SPIRLOOM_TRY(AllocateActivations());
    SPIRLOOM_TRY(AllocateInterface(plan_, state_, recording_));
    SPIRLOOM_TRY(Record());
    KeepRunPipelines();
    Describe();
    recording_.store->DetachPlan();
    assert(recording_.profile.size() == recording_.stats.dispatches);
    recording_.id = ++state_.recorded;
    return std::move(recording_);
  }

 private:
  const vulkan::Device& device() const { return *state_.runtime->device; }

  const vulkan::ComputePipeline& Pipeline(uint32_t index) const { return *pipelines_[index]; }

  Status CreatePipelines() {
    const auto start = std::chrono::steady_clock::now();
    RuntimeState& runtime = *state_.runtime;
    const uint64_t created_before = device().counters().pipelines;
    SPIRLOOM_TRY_ASSIGN(
        pipelines_, state_.parts->pipelines.Get(device(), *runtime.layouts,
                                                runtime.pipeline_cache->handle(), list_.pipelines));
    recording_.stats.pipeline_ns = Nanoseconds(std::chrono::steady_clock::now() - start);
    recording_.stats.pipelines = pipelines_.size();
    if (device().counters().pipelines != created_before) runtime.SavePipelineCache();
    return Status();
  }

  Status PrepareWeights() {
    const graph::WeightUploadInputs inputs{
        device(),
        graph_,
        plan_,
        list_.dispatches,
        [this](uint32_t index) -> const vulkan::ComputePipeline& { return Pipeline(index); },
        *state_.dummy,
        state_.direct(),
        state_.parts->constants,
        state_.state_set};
    SPIRLOOM_TRY_ASSIGN(graph::WeightUploadResult weights,
                        graph::UploadWeights(inputs, *recording_.store));
    state_.constant_bytes += weights.constant_bytes;
    state_.state_bytes += weights.state_bytes;
    recording_.stats.constant_bytes = state_.constant_bytes;
    initialized_ = std::move(weights.initialized);
    return Status();
  }

  // Allocates the temporary tensors.
  Status AllocateActivations() {
    std::vector<size_t> position(plan_.tensors.size(), SIZE_MAX);  // in `lifetimes`, by tensor
    std::vector<graph::TensorLifetime> lifetimes;
    for (size_t step = 0; step < run_.size(); ++step) {
      for (uint32_t tensor : run_[step].tensors) {
        if (tensor == graph::kNoTensor) continue;
        const uint32_t root = plan_.Root(tensor);
        if (!plan_.tensors[root].is_temporary()) continue;
        const auto now = static_cast<uint32_t>(step);
        if (position[root] == SIZE_MAX) {
          position[root] = lifetimes.size();
          lifetimes.push_back({root, now, now});
        }
        lifetimes[position[root]].last = now;
      }
    }
    SPIRLOOM_TRY_ASSIGN(const graph::AllocatedBytes bytes,
                        recording_.store->Allocate(lifetimes, state_.parts->activations));
    recording_.stats.planned_bytes = bytes.planned;
    recording_.stats.naive_bytes = bytes.naive;
    recording_.stats.live_bytes = bytes.live;
    return Status();
  }

  Status Record() {
    resources_.emplace(graph::RecorderResources{
        plan_, *recording_.store,
        [this](uint32_t index) -> const vulkan::ComputePipeline& { return Pipeline(index); },
        *state_.dummy});
    SPIRLOOM_TRY_ASSIGN(recording_.descriptors,
                        graph::MakeDescriptorSets(device(), run_, *resources_));
    if ((state_.options.profile || state_.options.time_runs) && !run_.empty()) {
      const size_t count = state_.options.profile ? 2 * run_.size() : 2;
      SPIRLOOM_TRY_ASSIGN(recording_.timestamps,
                          vulkan::TimestampPool::Create(device(), static_cast<uint32_t>(count)));
    }
    SPIRLOOM_TRY_ASSIGN(recording_.commands, vulkan::CommandBuffer::Create(device()));
    vulkan::CommandBuffer& commands = *recording_.commands;
    // SubmitRepeated() submits the commands of a model with states several times.
    SPIRLOOM_TRY(
        commands.Begin(plan_.states.empty() ? 0 : VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT));
    RecordRun(commands);
    SPIRLOOM_TRY(commands.End());
    return MakeCopies(state_, recording_);
  }

  void RecordRun(vulkan::CommandBuffer& commands) {
    const vulkan::TimestampPool* timestamps =
        recording_.timestamps ? &*recording_.timestamps : nullptr;
    if (timestamps != nullptr) commands.ResetTimestamps(*timestamps);
    graph::Recorder recorder(commands, *resources_, run_, recording_.descriptors->sets,
                             initialized_);
    if (timestamps == nullptr || state_.options.profile) {
      recorder.AddDispatches(timestamps);
    } else {
      // Both at BOTTOM_OF_PIPE: the first after earlier work such as copies of inputs, the second
      // after all dispatches.
      commands.WriteTimestamp(*timestamps, 0, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
      recorder.AddDispatches();
      commands.WriteTimestamp(*timestamps, 1, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    }
    recorder.Finish();
    recording_.stats.barriers = recorder.barriers();
  }

  // Releases pipelines used only for constants, unless the graph has dynamic shapes: later shapes
  // may reuse them.
  void KeepRunPipelines() {
    std::vector<bool> used(pipelines_.size(), !state_.symbols.empty());
    for (const Dispatch& dispatch : run_) {
      if (dispatch.pipeline != graph::kBufferCopy) used[dispatch.pipeline] = true;
    }
    for (size_t i = 0; i < pipelines_.size(); ++i) {
      if (used[i]) recording_.pipelines.push_back(pipelines_[i]);
    }
  }

  void Describe() {
    for (const Dispatch& dispatch : run_) {
      const graph::PlanNode& node = plan_.nodes[dispatch.node];
      DispatchProfile profile{};
      profile.node = node.name;
      profile.op = node.op == nullptr ? "copy" : node.op->op->name;
      profile.variant = node.op == nullptr ? "buffer copy" : std::string(node.variant.name);
      for (size_t i = 0; i < 3; ++i) {
        profile.grid[i] = dispatch.invocations[i];
        profile.workgroup[i] = dispatch.workgroup[i];
      }
      recording_.profile.push_back(std::move(profile));
    }
    recording_.stats.dispatches = run_.size();
    recording_.stats.state_bytes = state_.state_bytes;
    recording_.stats.layout_copies = plan_.layout_copies;
    recording_.stats.aliased_views = plan_.aliased_views;
    recording_.input_infos = InfosOf(graph_, graph_.inputs, plan_, plan_.inputs);
    recording_.state_infos = InfosOf(graph_, graph_.states, plan_, plan_.states);
    recording_.states = plan_.states;
    recording_.output_infos = InfosOf(graph_, graph_.outputs, plan_, plan_.outputs);
  }

  ModelState& state_;
  const graph::Graph& graph_;
  Recording recording_;
  Plan plan_;
  graph::DispatchList list_;
  std::vector<Dispatch> run_;  // dispatches of nonconstant nodes
  std::vector<graph::SharedPipeline> pipelines_;
  std::unordered_set<VkImage> initialized_;
  std::optional<graph::RecorderResources> resources_;
};

}  // namespace

Result<Recording> Record(ModelState& state, const graph::Graph& graph) {
  return RecordingBuilder(state, graph).Build();
}

}  // namespace spirloom::internal
