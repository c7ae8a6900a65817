// A graph file that is loaded on a device: what all of its contexts share.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_LOADED_MODEL_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_LOADED_MODEL_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/constants/weights.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/memory/memory_budget.h"
#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/model/compiled_graph.h"
#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/limits.h"
#include "runtime/graph/record/pipeline_pool.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Transfer of inputs and outputs between host and device.
struct HostAccess {
  bool direct;           // the host accesses device buffers; else staging buffers
  uint64_t piece_bytes;  // minimum piece in bytes, a multiple of 64

  static const HostAccess kDirect;
  // Pieces of at least 1 MiB: a core copies 1 MiB in 90 us, a thread and a submission cost 30 us
  // (measured with an H200, as kCopyThreads). Less than 2 MiB is one piece, copied by the caller
  // and submitted with the run.
  static const HostAccess kStaged;
};

inline constexpr HostAccess HostAccess::kDirect{.direct = true, .piece_bytes = UINT64_MAX};
inline constexpr HostAccess HostAccess::kStaged{.direct = false, .piece_bytes = 1 << 20};

// How a model uses the device.
struct DeviceConfig {
  graph::DeviceTraits traits;  // what the graph is compiled for
  HostAccess access;
  graph::TensorWatch* watch = nullptr;  // observes the memory of all tensors; may be null

  // Returns the traits of the device, and kDirect for unified memory, else kStaged.
  static DeviceConfig Of(const RuntimeState& runtime);
};

// A method of a loaded model. Compiles it for sets of shapes, each once as long as a context uses
// it. Thread-safe.
class Method {
 public:
  Method(LoadedModel& model, std::unique_ptr<const graph::Graph> graph);

  const std::string& name() const { return name_; }
  std::span<const SymbolInfo> symbols() const { return symbols_; }
  std::span<const IntInputInfo> int_inputs() const { return int_inputs_; }
  // Returns the value of each integer input in the values of the symbols.
  std::vector<int64_t> IntValues(std::span<const int64_t> symbols) const;
  // The initial bytes of each state; empty: zeros.
  const std::vector<std::vector<std::byte>>& initial_states() const { return initial_states_; }

  // Compiles the method for the maximum of each symbol. Releases the graph of a method without
  // symbols, which has no other shapes.
  Result<Compilation> CompileForMax();
  // Makes the shapes of `compiled`, of this method, the only ones, and releases the graph. Does
  // nothing for a method with fixed shapes.
  void Fix(std::shared_ptr<const CompiledGraph> compiled);
  // Whether the method has one set of shapes: it has no symbols, or Fix() was called.
  bool is_fixed() const;
  // Returns the values of the symbols for input shapes and integer inputs. Fails as
  // graph::SolveSymbols() does, and if the method has fixed shapes.
  Result<std::vector<int64_t>> Solve(std::span<const Shape> shapes,
                                     std::span<const int64_t> ints) const;
  // Compiles the method for values of the symbols, or specializes a compiled graph for them. Fails
  // if the method has fixed shapes.
  Result<Compilation> Compile(const std::vector<int64_t>& sizes);

 private:
  // A plan that may be specialized, and sizes that it was used for.
  struct KnownPlan {
    std::shared_ptr<const CompiledPlan> plan;
    std::weak_ptr<const graph::WeightSet> weights;
    std::vector<std::vector<int64_t>> sizes;
    std::vector<graph::SharedPipeline> pipelines;  // of specializations
  };

  // FixCompiling(), AddPlan(), IsWorthSpecializing() and Specialize() require `compiling_`, and
  // CheckOpen() `mutex_`.
  void FixCompiling(std::shared_ptr<const CompiledGraph> compiled);
  // Fails if the graph has been released.
  Status CheckOpen() const;
  // Returns the compiled graph for these sizes, or null; fails as CheckOpen().
  Result<std::shared_ptr<const CompiledGraph>> Find(const std::vector<int64_t>& sizes);
  // Adds a compiled graph, which Find() returns as long as a context uses it.
  void Add(const std::shared_ptr<const CompiledGraph>& compiled);
  // Adds the plan of a compiled graph to `plans_`; the one that was not used for longest is
  // removed.
  void AddPlan(const CompiledGraph& graph);
  // Whether the next plan should be made from another one, and kept for further ones.
  bool IsWorthSpecializing() const;
  // Specializes one of `plans_`: those that were used for the nearest sizes, or only those that
  // were used for `sizes`. The result has no graph if none is suitable.
  Result<Compilation> Specialize(const std::vector<int64_t>& sizes, bool same_sizes_only);

  LoadedModel& model_;
  const std::string name_;
  std::vector<SymbolInfo> symbols_;
  std::vector<IntInputInfo> int_inputs_;
  std::vector<uint32_t> int_symbols_;  // symbol of each integer input
  std::vector<std::vector<std::byte>> initial_states_;

  std::mutex compiling_;          // held during compilation; locked before `mutex_`; protects:
  std::vector<KnownPlan> plans_;  // in order of last use
  size_t failures_ = 0;           // attempts of Specialize() that failed, less successful ones
  size_t new_shapes_ = 0;         // calls of Specialize()

  // Never held during compilation, so that contexts of known shapes need not wait for it. Protects
  // the following members; the first two change only with `compiling_` held too.
  mutable std::mutex mutex_;
  std::unique_ptr<const graph::Graph> graph_;   // null once the shapes are fixed and compiled
  std::shared_ptr<const CompiledGraph> fixed_;  // of a method with fixed shapes
  std::vector<std::weak_ptr<const CompiledGraph>> compiled_;
};

// Owns the weights, the pipelines and the methods of a graph file. Thread-safe. Destroyed with the
// last context; `runtime` keeps the device alive and is destroyed last.
struct LoadedModel {
  // Fails like Model::Load(). `graph` is a method of `source`, whose constants must stay valid
  // until the model has been compiled if the source does not own them.
  static Result<std::shared_ptr<LoadedModel>> Create(std::shared_ptr<RuntimeState> runtime,
                                                     const graph::GraphSource& source,
                                                     const graph::Graph& graph,
                                                     const ModelOptions& options,
                                                     const DeviceConfig& config);

  // Adds a method that has been parsed. Call it before other threads use the model.
  std::shared_ptr<Method> AddMethod(std::unique_ptr<const graph::Graph> graph);
  // Returns a method by name, which it parses if no context uses it. Fails with kNotFound.
  Result<std::shared_ptr<Method>> FindMethod(const std::string& name);

  std::shared_ptr<RuntimeState> runtime;
  ModelOptions options;
  DeviceConfig config;
  graph::Limits limits;
  std::vector<std::string> method_names;
  std::shared_ptr<const std::vector<Attachment>> attachments;
  std::shared_ptr<graph::MemoryBudget> budget;
  graph::PipelinePool pipelines;
  std::unique_ptr<graph::Weights> weights;
  // Measured divided by estimated time of runs; 1 before the first correction (run_commands.h).
  std::atomic<double> cost_scale = 1;
  std::mutex mutex;  // protects `methods`
  std::vector<std::weak_ptr<Method>> methods;
};

// Returns the limits in `options`, or the default limits of the graph.
graph::Limits LimitsFor(const graph::Graph& graph, const ModelOptions& options);

// Returns the time since `start`.
uint64_t NanosecondsSince(std::chrono::steady_clock::time_point start);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_LOADED_MODEL_H_
