// How a graph becomes a loaded model.
#include <chrono>
#include <unordered_map>
#include <utility>

#include "runtime/graph/device_traits.h"
#include "runtime/graph/host_interface.h"
#include "runtime/graph/lowering.h"
#include "runtime/graph/model_state.h"
#include "runtime/graph/weight_init.h"

namespace spirloom::internal {
namespace {

using graph::Dispatch;
using graph::Plan;
using graph::PlanTensor;

uint64_t Nanoseconds(std::chrono::steady_clock::duration duration) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

std::vector<TensorInfo> InfosOf(const graph::Graph& graph, const std::vector<uint32_t>& tensors) {
  std::vector<TensorInfo> infos;
  for (uint32_t index : tensors) {
    const graph::Tensor& tensor = graph.tensors[index];
    infos.push_back(
        {tensor.name, tensor.dtype, tensor.shape, tensor.size, tensor.least, tensor.greatest});
  }
  return infos;
}

// Builds a ModelState step by step; each step uses what those before it made.
class ModelBuilder {
 public:
  ModelBuilder(std::shared_ptr<RuntimeState> runtime, const graph::Graph& graph,
               const ModelOptions& options, HostAccess access, graph::TensorWatch* watch)
      : graph_(graph),
        options_(options),
        access_(access),
        watch_(watch),
        state_(std::make_unique<ModelState>()) {
    state_->runtime = std::move(runtime);
  }

  Result<std::unique_ptr<ModelState>> Build() {
    const graph::DeviceTraits traits = graph::DeviceTraits::Of(device());
    const graph::LoweringOptions lowering{.storage = options_.storage, .kernels = options_.kernels};
    SPIRLOOM_TRY_ASSIGN(plan_, graph::Lower(graph_, state_->runtime->index, traits, lowering));
    SPIRLOOM_TRY_ASSIGN(list_, graph::BuildDispatches(plan_, traits));
    for (const Dispatch& dispatch : list_.dispatches) {
      if (!plan_.nodes[dispatch.node].is_constant) run_.push_back(dispatch);
    }
    SPIRLOOM_TRY(CreatePipelines());
    SPIRLOOM_TRY_ASSIGN(state_->dummy,
                        vulkan::Buffer::Create(device(), /*size=*/256, vulkan::MemoryUse::kDevice));
    state_->store.emplace(device(), plan_, watch_);
    SPIRLOOM_TRY(PrepareWeights());
    SPIRLOOM_TRY(AllocateActivations());
    SPIRLOOM_TRY(AllocateInterface(plan_, access_, *state_));
    SPIRLOOM_TRY(Record());
    KeepRunPipelines();
    Describe();
    state_->store->DetachPlan();
    return std::move(state_);
  }

 private:
  const vulkan::Device& device() const { return *state_->runtime->device; }

  const vulkan::ComputePipeline& Pipeline(uint32_t index) const { return pipelines_[index]; }

  Status CreatePipelines() {
    const auto start = std::chrono::steady_clock::now();
    RuntimeState& runtime = *state_->runtime;
    SPIRLOOM_TRY_ASSIGN(pipelines_,
                        vulkan::CreatePipelines(device(), *runtime.layouts,
                                                runtime.pipeline_cache->handle(), list_.pipelines));
    state_->stats.pipeline_ns = Nanoseconds(std::chrono::steady_clock::now() - start);
    state_->stats.pipelines = pipelines_.size();
    return runtime.SavePipelineCache();
  }

  Status PrepareWeights() {
    const graph::WeightInitInputs inputs{
        device(),
        graph_,
        plan_,
        list_.dispatches,
        [this](uint32_t index) -> const vulkan::ComputePipeline& { return Pipeline(index); },
        *state_->dummy,
        access_ == HostAccess::kDirect};
    SPIRLOOM_TRY_ASSIGN(graph::WeightInitResult weights,
                        graph::InitializeWeights(inputs, *state_->store));
    state_->stats.constant_bytes = weights.constant_bytes;
    initialized_ = std::move(weights.initialized);
    return Status();
  }

  bool IsActivation(uint32_t root) const {
    const PlanTensor& tensor = plan_.tensors[root];
    return !tensor.is_constant && tensor.input < 0 && tensor.output < 0;
  }

  // Places the tensors that live from one dispatch to another.
  Status AllocateActivations() {
    std::unordered_map<uint32_t, size_t> position;
    std::vector<graph::TensorLifetime> lifetimes;
    for (size_t step = 0; step < run_.size(); ++step) {
      for (uint32_t tensor : run_[step].tensors) {
        if (tensor == graph::kNoTensor || !IsActivation(plan_.Root(tensor))) continue;
        const uint32_t root = plan_.Root(tensor);
        const auto now = static_cast<uint32_t>(step);
        auto [found, added] = position.emplace(root, lifetimes.size());
        if (added) lifetimes.push_back({root, now, now});
        lifetimes[found->second].last = now;
      }
    }
    SPIRLOOM_TRY_ASSIGN(const graph::AllocatedBytes bytes,
                        state_->store->Allocate(lifetimes, vulkan::MemoryUse::kDevice));
    state_->stats.planned_bytes = bytes.planned;
    state_->stats.naive_bytes = bytes.naive;
    state_->stats.live_bytes = bytes.live;
    return Status();
  }

  Status Record() {
    resources_.emplace(graph::RecorderResources{
        plan_, *state_->store,
        [this](uint32_t index) -> const vulkan::ComputePipeline& { return Pipeline(index); },
        *state_->dummy});
    SPIRLOOM_TRY_ASSIGN(state_->descriptors,
                        graph::MakeDescriptorSets(device(), run_, *resources_));
    if (options_.profile && !run_.empty()) {
      SPIRLOOM_TRY_ASSIGN(
          state_->timestamps,
          vulkan::TimestampPool::Create(device(), static_cast<uint32_t>(2 * run_.size())));
    }
    SPIRLOOM_TRY_ASSIGN(state_->commands, vulkan::CommandBuffer::Create(device()));
    SPIRLOOM_TRY_ASSIGN(state_->fence, vulkan::Fence::Create(device()));
    vulkan::CommandBuffer& commands = *state_->commands;
    SPIRLOOM_TRY(commands.Begin());
    RecordRun(commands);
    return commands.End();
  }

  void RecordRun(vulkan::CommandBuffer& commands) {
    const vulkan::TimestampPool* timestamps = state_->timestamps ? &*state_->timestamps : nullptr;
    if (timestamps != nullptr) commands.ResetTimestamps(*timestamps);
    graph::Recorder recorder(commands, *resources_, run_, state_->descriptors->sets, initialized_);
    RecordInputCopies(plan_, *state_, recorder);
    recorder.AddDispatches(timestamps);
    RecordOutputCopies(plan_, *state_, recorder);
    recorder.Finish();
    state_->stats.barriers = recorder.barriers();
  }

  // Pipelines that only the preparation of constants needed go.
  void KeepRunPipelines() {
    std::vector<bool> used(pipelines_.size(), false);
    for (const Dispatch& dispatch : run_) {
      if (dispatch.pipeline != graph::kBufferCopy) used[dispatch.pipeline] = true;
    }
    for (size_t i = 0; i < pipelines_.size(); ++i) {
      if (used[i]) state_->pipelines.push_back(std::move(pipelines_[i]));
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
      state_->profile.push_back(std::move(profile));
    }
    state_->stats.dispatches = run_.size();
    state_->stats.layout_copies = plan_.layout_copies;
    state_->stats.aliased_views = plan_.aliased_views;
    state_->input_infos = InfosOf(graph_, graph_.inputs);
    state_->output_infos = InfosOf(graph_, graph_.outputs);
  }

  const graph::Graph& graph_;
  const ModelOptions& options_;
  const HostAccess access_;
  graph::TensorWatch* const watch_;
  std::unique_ptr<ModelState> state_;
  Plan plan_;
  graph::DispatchList list_;
  std::vector<Dispatch> run_;  // without those of constant nodes
  std::vector<vulkan::ComputePipeline> pipelines_;
  std::unordered_set<VkImage> initialized_;
  std::optional<graph::RecorderResources> resources_;
};

}  // namespace

HostAccess BestHostAccess(const RuntimeState& runtime) {
  return runtime.device->unified_memory() ? HostAccess::kDirect : HostAccess::kStaged;
}

Result<std::unique_ptr<ModelState>> BuildModel(std::shared_ptr<RuntimeState> runtime,
                                               const graph::Graph& graph,
                                               const ModelOptions& options, HostAccess access,
                                               graph::TensorWatch* watch) {
  return ModelBuilder(std::move(runtime), graph, options, access, watch).Build();
}

}  // namespace spirloom::internal
