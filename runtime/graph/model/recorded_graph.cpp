// Records compiled graphs in a context.
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

#include "runtime/graph/model/execution_context.h"
#include "runtime/graph/model/host_copies.h"
#include "runtime/graph/model/host_interface.h"
#include "runtime/graph/model/run_commands.h"
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
    context_.constants.insert(context_.constants.end(), compilation_.allocations.begin(),
                              compilation_.allocations.end());
    context_.state_bytes += state_bytes;
    recording_.stats.constant_bytes = LiveConstantBytes(context_);
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
    const double scale = context_.model->cost_scale;
    for (const graph::Dispatch& dispatch : graph_.dispatches) {
      const double ns = static_cast<double>(dispatch.estimated_ns) * scale;
      recording_.costs.push_back(static_cast<uint64_t>(std::clamp(ns, 1.0, 1e15)));
    }
    SPIRLOOM_TRY(RecordCommands(context_, recording_));
    return MakeCopies(context_, recording_);
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
