#include "runtime/graph/model_state.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "runtime/graph/device_traits.h"
#include "runtime/graph/lowering.h"
#include "runtime/graph/weight_init.h"

namespace spirloom::internal {
namespace {

using graph::Dispatch;
using graph::Plan;
using graph::PlanTensor;

constexpr uint64_t kHostAlignment = 64;

uint64_t Nanoseconds(std::chrono::steady_clock::duration duration) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

Status CheckCount(const char* what, size_t count, size_t wanted) {
  if (count == wanted) return Status();
  return Status(StatusCode::kInvalidArgument,
                std::string("Number of ") + what + "s (" + std::to_string(count) +
                    ") differs from the model's (" + std::to_string(wanted) + ").");
}

Status CheckSize(const char* what, const TensorInfo& info, size_t size) {
  if (size == info.size) return Status();
  return Status(StatusCode::kInvalidArgument,
                std::string("Size (") + std::to_string(size) + " bytes) of " + what + " " +
                    graph::Quote(info.name) + " differs from the model's (" +
                    std::to_string(info.size) + " bytes, " + LongName(info.dtype) + " " +
                    ToString(info.shape) + ").");
}

std::vector<TensorInfo> InfosOf(const graph::Graph& graph, const std::vector<uint32_t>& tensors) {
  std::vector<TensorInfo> infos;
  for (uint32_t index : tensors) {
    const graph::Tensor& tensor = graph.tensors[index];
    infos.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.size});
  }
  return infos;
}

// Builds a ModelState step by step; each step uses what those before it made.
class ModelBuilder {
 public:
  ModelBuilder(std::shared_ptr<RuntimeState> runtime, const graph::Graph& graph,
               const ModelOptions& options, HostAccess access)
      : graph_(graph), options_(options), access_(access), state_(std::make_unique<ModelState>()) {
    state_->runtime = std::move(runtime);
  }

  Result<std::unique_ptr<ModelState>> Build() {
    const graph::DeviceTraits traits = graph::DeviceTraits::Of(device());
    SPIRLOOM_TRY_ASSIGN(plan_,
                        graph::Lower(graph_, state_->runtime->index, traits, options_.storage));
    SPIRLOOM_TRY_ASSIGN(list_, graph::BuildDispatches(plan_, traits));
    for (const Dispatch& dispatch : list_.dispatches) {
      if (!plan_.nodes[dispatch.node].is_constant) run_.push_back(dispatch);
    }
    SPIRLOOM_TRY(CreatePipelines());
    SPIRLOOM_TRY_ASSIGN(state_->dummy,
                        vulkan::Buffer::Create(device(), /*size=*/256, vulkan::MemoryUse::kDevice));
    state_->store.emplace(device(), plan_);
    SPIRLOOM_TRY(PrepareWeights());
    SPIRLOOM_TRY(AllocateActivations());
    SPIRLOOM_TRY(AllocateInterface());
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
    return Status();
  }

  // Gives inputs and outputs memory that the host maps: their own where host and device share
  // memory, else a staging buffer beside it.
  Status AllocateInterface() {
    const bool direct = access_ == HostAccess::kDirect;
    std::vector<uint32_t> inputs = Roots(plan_.inputs);
    std::vector<uint32_t> outputs = Roots(plan_.outputs);
    SPIRLOOM_TRY(
        state_->store
            ->Allocate(inputs, direct ? vulkan::MemoryUse::kUpload : vulkan::MemoryUse::kDevice)
            .status());
    SPIRLOOM_TRY(
        state_->store
            ->Allocate(outputs, direct ? vulkan::MemoryUse::kReadback : vulkan::MemoryUse::kDevice)
            .status());
    SPIRLOOM_TRY(MapInterface(plan_.inputs, vulkan::MemoryUse::kUpload, state_->staged_inputs,
                              state_->inputs));
    return MapInterface(plan_.outputs, vulkan::MemoryUse::kReadback, state_->staged_outputs,
                        state_->outputs);
  }

  std::vector<uint32_t> Roots(const std::vector<uint32_t>& tensors) const {
    std::vector<uint32_t> roots;
    for (uint32_t tensor : tensors) roots.push_back(plan_.Root(tensor));
    return roots;
  }

  static uint64_t StagedSize(const PlanTensor& tensor) {
    return (tensor.size + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  }

  Status MapInterface(const std::vector<uint32_t>& tensors, vulkan::MemoryUse use,
                      std::optional<vulkan::Buffer>& staging, std::vector<HostTensor>& host) {
    uint64_t total = 0;
    for (uint32_t tensor : tensors) total += StagedSize(plan_.tensors[tensor]);
    const bool direct = access_ == HostAccess::kDirect;
    if (!direct && total > 0) {
      SPIRLOOM_TRY_ASSIGN(staging, vulkan::Buffer::Create(device(), total, use));
    }
    uint64_t offset = 0;
    for (uint32_t index : tensors) {
      const PlanTensor& tensor = plan_.tensors[index];
      HostTensor mapped;
      mapped.size = tensor.size;
      if (tensor.size > 0) {
        mapped.data =
            direct ? state_->store->Find(index)->buffer->mapped() : staging->mapped() + offset;
      }
      host.push_back(mapped);
      offset += StagedSize(tensor);
    }
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
    uint64_t offset = 0;
    for (uint32_t tensor : plan_.inputs) {
      const uint64_t size = plan_.tensors[tensor].size;
      if (state_->staged_inputs && size > 0) {
        recorder.CopyFromHost(*state_->staged_inputs, offset, tensor, /*tensor_offset=*/0, size);
      }
      offset += StagedSize(plan_.tensors[tensor]);
    }
    recorder.AddDispatches(timestamps);
    offset = 0;
    for (uint32_t tensor : plan_.outputs) {
      const uint64_t size = plan_.tensors[tensor].size;
      if (state_->staged_outputs && size > 0) {
        recorder.CopyToHost(tensor, *state_->staged_outputs, offset, size);
      }
      offset += StagedSize(plan_.tensors[tensor]);
    }
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
                                               const ModelOptions& options, HostAccess access) {
  return ModelBuilder(std::move(runtime), graph, options, access).Build();
}

Status RunModel(ModelState& state, std::span<const std::span<const std::byte>> inputs,
                std::span<const std::span<std::byte>> outputs) {
  SPIRLOOM_TRY(CheckCount("input", inputs.size(), state.input_infos.size()));
  SPIRLOOM_TRY(CheckCount("output", outputs.size(), state.output_infos.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    SPIRLOOM_TRY(CheckSize("input", state.input_infos[i], inputs[i].size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    SPIRLOOM_TRY(CheckSize("output", state.output_infos[i], outputs[i].size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].empty()) {
      std::memcpy(state.inputs[i].data, inputs[i].data(), inputs[i].size());
    }
  }
  SPIRLOOM_TRY(state.runtime->device->Submit(state.commands->handle(), state.fence->handle()));
  SPIRLOOM_TRY(state.fence->WaitAndReset());
  state.has_run = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].empty()) {
      std::memcpy(outputs[i].data(), state.outputs[i].data, outputs[i].size());
    }
  }
  return Status();
}

}  // namespace spirloom::internal
