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

// The estimated time from which on dispatches can be divided; 0: never. Estimates may be too low by
// a factor of 8.
uint64_t DivisibleFrom(const RuntimeState& runtime) {
  const vulkan::Device& device = *runtime.device;
  if (device.physical().quirks.divides_dispatches == 0) return 0;
  if (!runtime.quarantine.divides_dispatches()) return 0;
  const uint64_t max_ns = device.host().max_submission_ns;
  return max_ns == 0 ? 0 : std::max<uint64_t>(max_ns / 8, 1);
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

// Returns the constants of `plan`, whose dispatches are `dispatches`.
Result<std::shared_ptr<const graph::WeightSet>> Prepare(LoadedModel& model,
                                                        const graph::Graph& graph,
                                                        const CompiledPlan& plan,
                                                        std::span<const Dispatch> dispatches,
                                                        uint64_t further_bytes) {
  SPIRLOOM_TRY_ASSIGN(
      graph::WeightSet weights,
      model.weights->Prepare(
          graph, plan.plan, dispatches,
          [&](uint32_t index) -> const vulkan::ComputePipeline& { return *plan.pipelines[index]; },
          further_bytes));
  return std::make_shared<const graph::WeightSet>(std::move(weights));
}

// Creates the pipelines, or finds existing ones. After a failure of the driver's compiler, `failed`
// (may be null) is the name of the pipeline.
Result<std::vector<graph::SharedPipeline>> CreatePipelines(
    LoadedModel& model, std::span<const vulkan::PipelineDesc> descs, std::string* failed,
    Compilation& result) {
  const auto start = std::chrono::steady_clock::now();
  RuntimeState& runtime = *model.runtime;
  const vulkan::Device& device = *runtime.device;
  const uint64_t created_before = device.counters().pipelines;
  SPIRLOOM_TRY_ASSIGN(std::vector<graph::SharedPipeline> pipelines,
                      model.pipelines.Get(device, *runtime.layouts,
                                          runtime.pipeline_cache->handle(), descs, failed));
  result.pipeline_ns = NanosecondsSince(start);
  if (device.counters().pipelines != created_before) runtime.SavePipelineCache();
  return pipelines;
}

// Builds a CompiledGraph in steps; each step uses the results of earlier ones.
class GraphCompiler {
 public:
  GraphCompiler(LoadedModel& model, const ModelOptions& options, const graph::Graph& graph,
                bool is_specializable)
      : model_(model),
        options_(options),
        graph_(graph),
        is_specializable_(is_specializable && SPIRLOOM_FAST_RESIZE != 0 && !graph.symbols.empty()),
        traits_(model.config.traits) {}

  Result<Compilation> Run(std::vector<int64_t> sizes) {
    compiled_->sizes = std::move(sizes);
    if (const Tuner* tuner = options_.tune; tuner != nullptr) {
      SPIRLOOM_TRY(tuner->tune(model_.runtime, graph_, options_));
    }
    SPIRLOOM_TRY(PlanCompilableKernels());
    for (const Dispatch& dispatch : list_.dispatches) {
      if (!plan_->plan.nodes[dispatch.node].is_constant) {
        compiled_->dispatches.push_back(dispatch);
      }
    }
    FindLifetimes();
    SPIRLOOM_TRY(PrepareWeights());
    ReleaseUnusedPipelines();
    Describe();
    MakeSpecializer();
    compiled_->base = std::move(plan_);
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
      plan_->divisible_from = DivisibleFrom(runtime);
      Status planned = CompilePlan();
      if (!planned.ok()) return failure.ok() ? planned : failure;
      SPIRLOOM_TRY_ASSIGN(
          list_, graph::BuildDispatches(plan_->plan, model_.config.traits, plan_->divisible_from));
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
      const pack::VariantRow* row = plan_->plan.nodes[dispatch.node].variant.row;
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
    trace_ = graph::LoweringTrace();
    traits_.quarantined = runtime.quarantine.variants();
    const graph::CompileOptions compile{.storage = options_.storage,
                                        .kernels = options_.kernels,
                                        .tuned = runtime.tuning->kernels(),
                                        .max_dispatches = model_.limits.dispatches,
                                        .trace = is_specializable_ ? &trace_ : nullptr};
    SPIRLOOM_TRY_ASSIGN(plan_->plan, graph::Compile(graph_, runtime.index, traits_, compile));
    const Plan& plan = plan_->plan;
    if (plan.fallbacks > 0) {
      runtime.device->host().Log(LogLevel::kInfo,
                                 "Nodes in another storage than requested, which has no kernel or "
                                 "is too small: {}. First: {}.",
                                 plan.fallbacks, plan.first_fallback);
    }
    return Status();
  }

  Status CreatePipelines(std::string* failed) {
    SPIRLOOM_TRY_ASSIGN(plan_->pipelines,
                        internal::CreatePipelines(model_, list_.pipelines, failed, result_));
    compiled_->stats.pipelines = plan_->pipelines.size();
    return Status();
  }

  Status PrepareWeights() {
    SPIRLOOM_TRY_ASSIGN(auto weights, Prepare(model_, graph_, *plan_, list_.dispatches,
                                              model_.budget->is_unused() ? MinContextBytes() : 0));
    result_.allocations = weights->allocations;
    compiled_->shared_weights = std::move(weights);
    return Status();
  }

  // Returns a lower bound of the memory of a context: states, and activations that are live at
  // once.
  uint64_t MinContextBytes() const {
    const Plan& plan = plan_->plan;
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
    std::vector<bool> used(plan_->pipelines.size(), false);
    for (const Dispatch& dispatch : compiled_->dispatches) {
      if (dispatch.pipeline != graph::kBufferCopy) used[dispatch.pipeline] = true;
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) plan_->pipelines[i] = nullptr;
    }
  }

  void FindLifetimes() {
    const Plan& plan = plan_->plan;
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
    const Plan& plan = plan_->plan;
    compiled_->stats.dispatches = compiled_->dispatches.size();
    compiled_->stats.layout_copies = plan.layout_copies;
    compiled_->stats.aliased_views = plan.aliased_views;
    compiled_->input_infos = InfosOf(graph_, graph_.inputs, plan, plan.inputs);
    compiled_->state_infos = InfosOf(graph_, graph_.states, plan, plan.states);
    compiled_->output_infos = InfosOf(graph_, graph_.outputs, plan, plan.outputs);
  }

  // Makes the plan the base of further ones.
  void MakeSpecializer() {
    if (SPIRLOOM_FAST_RESIZE == 0 || !is_specializable_ || !trace_.is_complete ||
        options_.tune != nullptr)
      return;
    plan_->specializer.emplace(plan_->plan, std::move(trace_), model_.runtime->index, traits_,
                               options_.kernels);
    plan_->quarantined = traits_.quarantined;
    plan_->run = RunDescription(*compiled_);
    plan_->all_dispatches = std::move(list_.dispatches);
    plan_->pipeline_descs = std::move(list_.pipelines);
  }

  LoadedModel& model_;
  const ModelOptions& options_;
  const graph::Graph& graph_;
  const bool is_specializable_;
  graph::DeviceTraits traits_;
  graph::LoweringTrace trace_;
  graph::DispatchList list_;
  std::shared_ptr<CompiledPlan> plan_ = std::make_shared<CompiledPlan>();
  std::shared_ptr<CompiledGraph> compiled_ = std::make_shared<CompiledGraph>();
  Compilation result_;
};

// Sets the shapes and sizes of the tensors `planned`.
void SetSizes(std::vector<TensorInfo>& infos, const std::vector<uint32_t>& planned,
              const graph::PlanValues& values) {
  for (size_t i = 0; i < infos.size(); ++i) {
    const graph::TensorValues& tensor = values.tensors[planned[i]];
    const std::span<const int64_t> shape = values.shapes[tensor.shape];
    infos[i].shape.assign(shape.begin(), shape.end());
    infos[i].size = static_cast<size_t>(tensor.size);
  }
}

}  // namespace

const Plan& CompiledGraph::plan() const {
  if (SPIRLOOM_FAST_RESIZE == 0 || !values) return base->plan;
  std::call_once(planned_, [this] {
    plan_ = std::make_unique<const Plan>(base->specializer->Apply(*values));
  });
  return *plan_;
}

bool CompiledGraph::FitsMemoryOf(const CompiledGraph& other) const {
  if (base != other.base) return false;
  const auto tensors = static_cast<uint32_t>(base->plan.tensors.size());
  for (uint32_t i = 0; i < tensors; ++i) {
    if (SizeOf(i) > other.SizeOf(i) || AliasOffsetOf(i) != other.AliasOffsetOf(i)) return false;
  }
  return true;
}

std::vector<DispatchProfile> CompiledGraph::Profile() const {
  std::vector<DispatchProfile> profiles;
  for (const Dispatch& dispatch : dispatches) {
    const graph::PlanNode& node = structure().nodes[dispatch.node];
    DispatchProfile profile{};
    profile.node = node.name;
    profile.op = node.op == nullptr ? "copy" : node.op->op->name;
    profile.variant = node.op == nullptr ? "buffer copy" : std::string(node.variant.name);
    for (size_t i = 0; i < 3; ++i) {
      profile.grid[i] = dispatch.invocations[i];
      profile.workgroup[i] = dispatch.workgroup[i];
    }
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

Result<Compilation> SpecializeGraph(LoadedModel& model, const graph::Graph& graph,
                                    const std::shared_ptr<const CompiledPlan>& base,
                                    std::shared_ptr<const graph::WeightSet> weights,
                                    const std::vector<int64_t>& sizes) {
  const RuntimeState& runtime = *model.runtime;
  if (base->divisible_from != DivisibleFrom(runtime) ||
      base->quarantined != runtime.quarantine.variants()) {
    return Compilation();
  }
  std::optional<graph::PlanValues> values =
      base->specializer->Evaluate(graph, sizes, runtime.tuning->kernels().get());
  if (!values) return Compilation();
  auto specialized = std::make_shared<CompiledGraph>(base->run);
  specialized->sizes = sizes;
  specialized->base = base;
  specialized->values = std::move(values);
  std::optional<graph::DispatchList> list =
      graph::SpecializeDispatches(base->plan, base->pipeline_descs, base->run.dispatches,
                                  *specialized->values, model.config.traits, base->divisible_from);
  if (!list) return Compilation();
  Compilation result;
  if (!list->pipelines.empty()) {
    // After a failure, compiling selects another kernel.
    auto pipelines = CreatePipelines(model, list->pipelines, /*failed=*/nullptr, result);
    if (!pipelines.ok()) return Compilation();
    specialized->pipelines = std::move(*pipelines);
  }
  specialized->dispatches = std::move(list->dispatches);
  SetSizes(specialized->input_infos, base->plan.inputs, *specialized->values);
  SetSizes(specialized->output_infos, base->plan.outputs, *specialized->values);
  if (weights == nullptr) {
    SPIRLOOM_TRY_ASSIGN(weights, Prepare(model, graph, *base, base->all_dispatches,
                                         /*further_bytes=*/0));
    result.allocations = weights->allocations;
  }
  specialized->shared_weights = std::move(weights);
  result.graph = std::move(specialized);
  return result;
}

Result<Compilation> CompileGraph(LoadedModel& model, const ModelOptions& options,
                                 const graph::Graph& graph, std::vector<int64_t> sizes,
                                 bool is_specializable) {
  return GraphCompiler(model, options, graph, is_specializable).Run(std::move(sizes));
}

}  // namespace spirloom::internal
