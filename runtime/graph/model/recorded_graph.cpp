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
    uint64_t state_bytes = 0;
    if (const RecordedGraph* larger = FindLarger(); larger != nullptr) {
      ShareMemory(*larger);
      SPIRLOOM_TRY(MapInterface(context_, recording_));
    } else {
      SPIRLOOM_TRY_ASSIGN(state_bytes, AllocateMemory());
    }
    SPIRLOOM_TRY(Record());
    assert(graph_.dispatches.size() == recording_.stats.dispatches);
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
  // Returns a recording of the same plan in whose memory the tensors fit, or null. A watch requires
  // tensors of exact sizes.
  const RecordedGraph* FindLarger() const {
    if (!graph_.base->specializer || context_.model->config.watch != nullptr) return nullptr;
    for (const RecordedGraph& other : context_.recordings) {
      if (graph_.FitsMemoryOf(*other.allocated)) return &other;
    }
    return nullptr;
  }

  // Uses the memory and the descriptors of `larger`, whose offsets are equal.
  void ShareMemory(const RecordedGraph& larger) {
    recording_.allocated = larger.allocated;
    recording_.store = larger.store;
    recording_.descriptors = larger.descriptors;
    recording_.barriers = larger.barriers;
    recording_.stats.planned_bytes = larger.stats.planned_bytes;
    recording_.stats.naive_bytes = larger.stats.naive_bytes;
    recording_.stats.live_bytes = larger.stats.live_bytes;
  }

  // Returns the bytes of new states.
  Result<uint64_t> AllocateMemory() {
    recording_.allocated = compilation_.graph;
    recording_.store.reset(
        new TensorStore(TensorStore::Extending(*graph_.weights().store, graph_.plan())));
    SPIRLOOM_TRY_ASSIGN(const uint64_t state_bytes, AllocateStates(context_, recording_));
    SPIRLOOM_TRY(AllocateActivations());
    SPIRLOOM_TRY(AllocateInterface(context_, recording_));
    return state_bytes;
  }

  // Allocates the temporary tensors.
  Status AllocateActivations() {
    SPIRLOOM_TRY_ASSIGN(const graph::AllocatedBytes bytes,
                        recording_.store->Allocate(graph_.lifetimes, context_.memory->activations));
    recording_.stats.planned_bytes = bytes.planned;
    recording_.stats.naive_bytes = bytes.naive;
    recording_.stats.live_bytes = bytes.live;
    return Status();
  }

  Status MakeDescriptors() {
    const graph::RecorderResources resources{
        graph_.structure(), *recording_.store,
        [this](uint32_t index) -> const vulkan::ComputePipeline& { return graph_.Pipeline(index); },
        context_.model->weights->dummy(), graph_.own_values()};
    SPIRLOOM_TRY_ASSIGN(graph::DescriptorSets sets,
                        graph::MakeDescriptorSets(context_.device(), graph_.dispatches, resources));
    recording_.descriptors = std::make_shared<const graph::DescriptorSets>(std::move(sets));
    return Status();
  }

  Status Record() {
    const vulkan::Device& device = context_.device();
    const ModelOptions& options = context_.model->options;
    if (recording_.descriptors == nullptr) SPIRLOOM_TRY(MakeDescriptors());
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
