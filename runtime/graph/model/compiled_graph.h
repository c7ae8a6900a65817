// A graph compiled for one set of input shapes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_COMPILED_GRAPH_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_COMPILED_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/graph/constants/weights.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/graph/record/pipeline_pool.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::internal {

struct LoadedModel;

// The plan of a graph for one set of shapes, with its pipelines and constants. Immutable once
// compiled, so any number of contexts record and run it, on any thread.
struct CompiledGraph {
  std::vector<int64_t> sizes;  // values of the graph's symbols
  graph::Plan plan;
  std::vector<graph::Dispatch> dispatches;       // of a run: those of nonconstant nodes
  std::vector<graph::TensorLifetime> lifetimes;  // of the temporary tensors, by dispatch
  // By Dispatch::pipeline. Those of constant nodes are null unless other shapes may use them.
  std::vector<graph::SharedPipeline> pipelines;
  graph::WeightSet weights;  // refers to `plan`
  std::vector<TensorInfo> input_infos;
  std::vector<TensorInfo> output_infos;
  std::vector<TensorInfo> state_infos;
  LoadStats stats;                       // counts of the plan
  std::vector<DispatchProfile> profile;  // of `dispatches`, without times

  const vulkan::ComputePipeline& Pipeline(uint32_t index) const { return *pipelines[index]; }
};

// A compiled graph, and what compiling it created: nothing if it existed.
struct Compilation {
  std::shared_ptr<const CompiledGraph> graph;
  uint64_t pipeline_ns = 0;  // time to create pipelines
  std::vector<std::weak_ptr<const vulkan::DeviceMemory>> allocations = {};  // of new constants
};

// Compiles `graph`, whose symbols have the values `sizes`: tunes if the options request it, runs
// the passes, creates the pipelines, and prepares the constants. Fails like Model::Load().
// Thread-safe.
Result<Compilation> CompileGraph(LoadedModel& model, const ModelOptions& options,
                                 const graph::Graph& graph, std::vector<int64_t> sizes);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_COMPILED_GRAPH_H_
