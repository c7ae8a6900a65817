#include "runtime/graph/model/compiled_graph.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/graph/file/specialize.h"
#include "runtime/graph/model/loaded_model.h"
#include "runtime/graph/model/tuner.h"
#include "runtime/graph/plan/compile.h"

namespace spirloom::internal {
namespace {

using graph::Dispatch;
using graph::Plan;
using graph::PlanTensor;

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

// Builds a CompiledGraph in steps; each step uses the results of earlier ones.
class GraphCompiler {
 public:
  GraphCompiler(LoadedModel& model, const ModelOptions& options, const graph::Graph& graph)
      : model_(model), options_(options), graph_(graph) {}

  Result<Compilation> Run(std::vector<int64_t> sizes) {
    compiled_->sizes = std::move(sizes);
    if (const Tuner* tuner = options_.tune; tuner != nullptr) {
      SPIRLOOM_TRY(tuner->tune(model_.runtime, graph_, options_));
    }
    SPIRLOOM_TRY(PlanCompilableKernels());
    for (const Dispatch& dispatch : list_.dispatches) {
      if (!compiled_->plan.nodes[dispatch.node].is_constant) {
        compiled_->dispatches.push_back(dispatch);
      }
    }
    FindLifetimes();
    SPIRLOOM_TRY(PrepareWeights());
    ReleaseUnusedPipelines();
    Describe();
    result_.graph = std::move(compiled_);
    return std::move(result_);
  }

 private:
  // Plans and creates the pipelines, until all selected kernels pass verification and the driver
  // compiles them: other kernels are quarantined. Fails with its first error if no other kernel can
  // replace one that it fails to compile.
  Status PlanCompilableKernels() {
    RuntimeState& runtime = *model_.runtime;
    Status failure;
    for (;;) {
      Status planned = CompilePlan();
      if (!planned.ok()) return failure.ok() ? planned : failure;
      SPIRLOOM_TRY_ASSIGN(
          list_, graph::BuildDispatches(compiled_->plan, model_.config.traits, DivisibleFrom()));
      SPIRLOOM_TRY_ASSIGN(const bool quarantined, VerifyKernels());
      if (quarantined) continue;
      std::string failed;
      Status created = CreatePipelines(&failed);
      if (created.ok() || failed.empty() || !runtime.replaces_failed_kernels) return created;
      runtime.device->host().Log(
          LogLevel::kWarning,
          "The driver fails to compile {}. Another kernel is selected if there is one. Update the "
          "driver, or report this with `spirloom bug-report`. {}",
          failed, created.message());
      runtime.quarantine.Add(failed);
      if (failure.ok()) failure = std::move(created);
    }
  }

  // Has the selected kernels verified. Returns true if the quarantine has changed.
  Result<bool> VerifyKernels() {
    RuntimeState& runtime = *model_.runtime;
    if (runtime.verification == nullptr) return false;
    session::VariantRows variants;
    bool divided = false;
    for (const Dispatch& dispatch : list_.dispatches) {
      divided |= dispatch.divisible;
      const pack::VariantRow* row = compiled_->plan.nodes[dispatch.node].variant.row;
      if (row != nullptr) variants.push_back(row);
    }
    const size_t before = runtime.quarantine.variants().size();
    const bool divides = runtime.quarantine.divides_dispatches();
    SPIRLOOM_TRY(runtime.verification->Verify(variants, divided));
    return runtime.quarantine.variants().size() != before ||
           runtime.quarantine.divides_dispatches() != divides;
  }

  Status CompilePlan() {
    RuntimeState& runtime = *model_.runtime;
    graph::DeviceTraits traits = model_.config.traits;
    traits.quarantined = runtime.quarantine.variants();
    const graph::CompileOptions compile{.storage = options_.storage,
                                        .kernels = options_.kernels,
                                        .tuned = runtime.tuning->kernels(),
                                        .max_dispatches = model_.limits.dispatches};
    SPIRLOOM_TRY_ASSIGN(compiled_->plan, graph::Compile(graph_, runtime.index, traits, compile));
    const Plan& plan = compiled_->plan;
    if (plan.fallbacks > 0) {
      runtime.device->host().Log(LogLevel::kInfo,
                                 "Nodes in another storage than requested, which has no kernel or "
                                 "is too small: {}. First: {}.",
                                 plan.fallbacks, plan.first_fallback);
    }
    return Status();
  }

  // The estimated time from which on dispatches can be divided; 0: never. Estimates may be too low
  // by a factor of 8.
  uint64_t DivisibleFrom() const {
    const vulkan::Device& device = *model_.runtime->device;
    if (device.physical().quirks.divides_dispatches == 0) return 0;
    if (!model_.runtime->quarantine.divides_dispatches()) return 0;
    const uint64_t max_ns = device.host().max_submission_ns;
    return max_ns == 0 ? 0 : std::max<uint64_t>(max_ns / 8, 1);
  }

  Status CreatePipelines(std::string* failed) {
    const auto start = std::chrono::steady_clock::now();
    RuntimeState& runtime = *model_.runtime;
    const vulkan::Device& device = *runtime.device;
    const uint64_t created_before = device.counters().pipelines;
    SPIRLOOM_TRY_ASSIGN(compiled_->pipelines, model_.pipelines.Get(device, *runtime.layouts,
                                                                   runtime.pipeline_cache->handle(),
                                                                   list_.pipelines, failed));
    result_.pipeline_ns = NanosecondsSince(start);
    compiled_->stats.pipelines = compiled_->pipelines.size();
    if (device.counters().pipelines != created_before) runtime.SavePipelineCache();
    return Status();
  }

  Status PrepareWeights() {
    SPIRLOOM_TRY_ASSIGN(compiled_->weights,
                        model_.weights->Prepare(
                            graph_, compiled_->plan, list_.dispatches,
                            [this](uint32_t index) -> const vulkan::ComputePipeline& {
                              return compiled_->Pipeline(index);
                            },
                            model_.budget->is_unused() ? MinContextBytes() : 0));
    result_.allocations = compiled_->weights.allocations;
    return Status();
  }

  // Returns a lower bound of the memory of a context: states, and activations that are live at
  // once.
  uint64_t MinContextBytes() const {
    const Plan& plan = compiled_->plan;
    uint64_t states = 0;
    for (uint32_t state : plan.states) states += plan.tensors[state].size;
    std::vector<uint64_t> live(compiled_->dispatches.size() + 1, 0);  // change at each dispatch
    for (const graph::TensorLifetime& lifetime : compiled_->lifetimes) {
      live[lifetime.first] += plan.tensors[lifetime.tensor].size;
      live[lifetime.last + 1] -= plan.tensors[lifetime.tensor].size;  // wraps; sums do not
    }
    std::partial_sum(live.begin(), live.end(), live.begin());
    return states + std::ranges::max(live);
  }

  // Releases pipelines used only for constants, unless the graph has dynamic shapes: later shapes
  // may reuse them.
  void ReleaseUnusedPipelines() {
    if (!compiled_->sizes.empty()) return;
    std::vector<bool> used(compiled_->pipelines.size(), false);
    for (const Dispatch& dispatch : compiled_->dispatches) {
      if (dispatch.pipeline != graph::kBufferCopy) used[dispatch.pipeline] = true;
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) compiled_->pipelines[i] = nullptr;
    }
  }

  void FindLifetimes() {
    const Plan& plan = compiled_->plan;
    std::vector<graph::TensorLifetime>& lifetimes = compiled_->lifetimes;
    std::vector<size_t> position(plan.tensors.size(), SIZE_MAX);  // in `lifetimes`, by tensor
    for (size_t step = 0; step < compiled_->dispatches.size(); ++step) {
      for (uint32_t tensor : compiled_->dispatches[step].tensors) {
        if (tensor == graph::kNoTensor) continue;
        const uint32_t root = plan.Root(tensor);
        if (!plan.tensors[root].is_temporary()) continue;
        const auto now = static_cast<uint32_t>(step);
        if (position[root] == SIZE_MAX) {
          position[root] = lifetimes.size();
          lifetimes.push_back({root, now, now});
        }
        lifetimes[position[root]].last = now;
      }
    }
  }

  void Describe() {
    const Plan& plan = compiled_->plan;
    for (const Dispatch& dispatch : compiled_->dispatches) {
      const graph::PlanNode& node = plan.nodes[dispatch.node];
      DispatchProfile profile{};
      profile.node = node.name;
      profile.op = node.op == nullptr ? "copy" : node.op->op->name;
      profile.variant = node.op == nullptr ? "buffer copy" : std::string(node.variant.name);
      for (size_t i = 0; i < 3; ++i) {
        profile.grid[i] = dispatch.invocations[i];
        profile.workgroup[i] = dispatch.workgroup[i];
      }
      compiled_->profile.push_back(std::move(profile));
    }
    compiled_->stats.dispatches = compiled_->dispatches.size();
    compiled_->stats.layout_copies = plan.layout_copies;
    compiled_->stats.aliased_views = plan.aliased_views;
    compiled_->input_infos = InfosOf(graph_, graph_.inputs, plan, plan.inputs);
    compiled_->state_infos = InfosOf(graph_, graph_.states, plan, plan.states);
    compiled_->output_infos = InfosOf(graph_, graph_.outputs, plan, plan.outputs);
  }

  LoadedModel& model_;
  const ModelOptions& options_;
  const graph::Graph& graph_;
  graph::DispatchList list_;
  std::shared_ptr<CompiledGraph> compiled_ = std::make_shared<CompiledGraph>();
  Compilation result_;
};

}  // namespace

Result<Compilation> CompileGraph(LoadedModel& model, const ModelOptions& options,
                                 const graph::Graph& graph, std::vector<int64_t> sizes) {
  return GraphCompiler(model, options, graph).Run(std::move(sizes));
}

}  // namespace spirloom::internal
