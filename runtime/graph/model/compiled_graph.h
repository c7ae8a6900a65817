// A graph compiled for one set of input shapes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_COMPILED_GRAPH_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_COMPILED_GRAPH_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/graph/constants/weights.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/plan/plan_specializer.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/graph/record/pipeline_pool.h"
#include "runtime/session/quarantine.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::internal {

struct LoadedModel;

// What runs of a plan require and report.
struct RunDescription {
  std::vector<graph::Dispatch> dispatches;       // of a run: those of nonconstant nodes
  std::vector<graph::TensorLifetime> lifetimes;  // of the temporary tensors, by dispatch
  std::vector<TensorInfo> input_infos;
  std::vector<TensorInfo> output_infos;
  std::vector<TensorInfo> state_infos;
  LoadStats stats;  // counts of the plan
};

// A plan that was compiled for one set of shapes, with its pipelines. Those of other shapes may be
// specializations of it. Immutable, and independent of device memory.
struct CompiledPlan {
  graph::Plan plan;
  // Null if the plan cannot be specialized; the following members are then empty.
  std::optional<graph::PlanSpecializer> specializer;
  RunDescription run;
  std::vector<graph::Dispatch> all_dispatches;       // with those of constant nodes
  std::vector<vulkan::PipelineDesc> pipeline_descs;  // of `pipelines`
  // The conditions under which it was compiled.
  session::VariantRows quarantined;
  uint64_t divisible_from = 0;
  // By Dispatch::pipeline. Those of constant nodes are null unless other shapes may use them.
  std::vector<graph::SharedPipeline> pipelines;
};

// The plan of a graph for one set of shapes, with its constants. Immutable once compiled, so any
// number of contexts record and run it, on any thread.
struct CompiledGraph : RunDescription {
  CompiledGraph() = default;
  explicit CompiledGraph(const RunDescription& run) : RunDescription(run) {}

  std::vector<int64_t> sizes;                              // values of the graph's symbols
  std::shared_ptr<const CompiledPlan> base;                // never null
  std::optional<graph::PlanValues> values;                 // null: those of the plan of `base`
  std::shared_ptr<const graph::WeightSet> shared_weights;  // refers to the plan of `base`
  // Those that `base` does not contain; their indices follow.
  std::vector<graph::SharedPipeline> pipelines;

  // The plan of `base`. Its shapes, sizes, alias offsets, arguments and values of dispatches may be
  // those of other sizes; all else is equal to plan().
  const graph::Plan& structure() const { return base->plan; }
  // The plan. The first call creates it if it has `values`.
  const graph::Plan& plan() const;
  const graph::WeightSet& weights() const { return *shared_weights; }
  uint64_t SizeOf(uint32_t tensor) const {
    return values ? values->tensors[tensor].size : base->plan.tensors[tensor].size;
  }
  uint64_t AliasOffsetOf(uint32_t tensor) const {
    return values ? values->tensors[tensor].alias_offset : base->plan.tensors[tensor].alias_offset;
  }
  // The `values`, or null.
  const graph::PlanValues* own_values() const { return values ? &*values : nullptr; }
  // Whether `other` has the same base, and each tensor of this graph fits that of `other` at the
  // same offset.
  bool FitsMemoryOf(const CompiledGraph& other) const;
  const vulkan::ComputePipeline& Pipeline(uint32_t index) const {
    const size_t count = base->pipelines.size();
    return index < count ? *base->pipelines[index] : *pipelines[index - count];
  }
  // Describes `dispatches`, without times.
  std::vector<DispatchProfile> Profile() const;

 private:
  mutable std::once_flag planned_;
  mutable std::unique_ptr<const graph::Plan> plan_;  // with `values`, once it is required
};

// A compiled graph, and what compiling it created: nothing if it existed.
struct Compilation {
  std::shared_ptr<const CompiledGraph> graph;
  uint64_t pipeline_ns = 0;  // time to create pipelines
  std::vector<std::weak_ptr<const vulkan::DeviceMemory>> allocations = {};  // of new constants
};

// Compiles `graph`, whose symbols have the values `sizes`: tunes if the options request it, runs
// the passes, creates the pipelines, and prepares the constants. `is_specializable`: the plan keeps
// what SpecializeGraph() requires, if it can be specialized. Fails like Model::Load(). Thread-safe.
Result<Compilation> CompileGraph(LoadedModel& model, const ModelOptions& options,
                                 const graph::Graph& graph, std::vector<int64_t> sizes,
                                 bool is_specializable);

// Specializes the plan of `base` for other sizes of `graph`, without compiling. `weights` are its
// constants; null: they are prepared again. The result has no graph if another plan may be required
// or better. Fails like CompileGraph().
Result<Compilation> SpecializeGraph(LoadedModel& model, const graph::Graph& graph,
                                    const std::shared_ptr<const CompiledPlan>& base,
                                    std::shared_ptr<const graph::WeightSet> weights,
                                    const std::vector<int64_t>& sizes);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_COMPILED_GRAPH_H_
