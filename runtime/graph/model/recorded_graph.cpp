// Records compiled graphs in a context.
#include <cassert>
#include <cstdint>
#include <utility>

#include "runtime/graph/model/execution_context.h"
#include "runtime/graph/model/host_copies.h"
#include "runtime/graph/model/host_interface.h"
#include "runtime/graph/model/states.h"

namespace spirloom::internal {
namespace {

using graph::TensorStore;

// Builds a RecordedGraph in steps; each step uses the results of earlier ones.
class GraphRecorder {
 public:
  GraphRecorder(ExecutionContext& context, Compilation compilation)
      : context_(context), compilation_(std::move(compilation)), graph_(*compilation_.graph) {}

  Status Run() {
    recording_.compiled = compilation_.graph;
    recording_.stats = graph_.stats;
    recording_.stats.pipeline_ns = compilation_.pipeline_ns;
    recording_.store.reset(new TensorStore(TensorStore::Extending(*graph_.weights.store)));
    SPIRLOOM_TRY_ASSIGN(const uint64_t state_bytes, AllocateStates(context_, recording_));
    SPIRLOOM_TRY(AllocateActivations());
    SPIRLOOM_TRY(AllocateInterface(context_, recording_));
    SPIRLOOM_TRY(Record());
    assert(graph_.profile.size() == recording_.stats.dispatches);
    context_.constant_bytes += compilation_.constant_bytes;
    context_.state_bytes += state_bytes;
    recording_.stats.constant_bytes = context_.constant_bytes;
    recording_.stats.state_bytes = context_.state_bytes;
    recording_.id = ++context_.recorded;
    context_.recordings.splice(context_.recordings.begin(), built_);
    return Status();
  }

 private:
  // Allocates the temporary tensors.
  Status AllocateActivations() {
    SPIRLOOM_TRY_ASSIGN(const graph::AllocatedBytes bytes,
                        recording_.store->Allocate(graph_.lifetimes, context_.memory->activations));
    recording_.stats.planned_bytes = bytes.planned;
    recording_.stats.naive_bytes = bytes.naive;
    recording_.stats.live_bytes = bytes.live;
    return Status();
  }

  Status Record() {
    const graph::RecorderResources resources{
        graph_.plan, *recording_.store,
        [this](uint32_t index) -> const vulkan::ComputePipeline& { return graph_.Pipeline(index); },
        context_.model->weights->dummy()};
    const vulkan::Device& device = context_.device();
    const ModelOptions& options = context_.model->options;
    SPIRLOOM_TRY_ASSIGN(recording_.descriptors,
                        graph::MakeDescriptorSets(device, graph_.dispatches, resources));
    if ((options.profile || options.time_runs) && !graph_.dispatches.empty()) {
      const size_t count = options.profile ? 2 * graph_.dispatches.size() : 2;
      SPIRLOOM_TRY_ASSIGN(recording_.timestamps,
                          vulkan::TimestampPool::Create(device, static_cast<uint32_t>(count)));
    }
    SPIRLOOM_TRY_ASSIGN(recording_.commands, vulkan::CommandBuffer::Create(device));
    vulkan::CommandBuffer& commands = *recording_.commands;
    // SubmitRepeated() submits the commands of a model with states several times.
    SPIRLOOM_TRY(commands.Begin(
        graph_.plan.states.empty() ? 0 : VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT));
    RecordRun(commands, resources);
    SPIRLOOM_TRY(commands.End());
    return MakeCopies(context_, recording_);
  }

  void RecordRun(vulkan::CommandBuffer& commands, const graph::RecorderResources& resources) {
    const vulkan::TimestampPool* timestamps =
        recording_.timestamps ? &*recording_.timestamps : nullptr;
    if (timestamps != nullptr) commands.ResetTimestamps(*timestamps);
    graph::Recorder recorder(commands, resources, graph_.dispatches, recording_.descriptors->sets,
                             graph_.weights.initialized);
    if (timestamps == nullptr || context_.model->options.profile) {
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

  ExecutionContext& context_;
  const Compilation compilation_;
  const CompiledGraph& graph_;
  std::list<RecordedGraph> built_{1};
  RecordedGraph& recording_ = built_.front();
};

}  // namespace

Status Record(ExecutionContext& context, Compilation compilation) {
  return GraphRecorder(context, std::move(compilation)).Run();
}

}  // namespace spirloom::internal
