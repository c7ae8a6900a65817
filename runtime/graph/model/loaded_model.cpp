#include "runtime/graph/model/loaded_model.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/sorted_order.h"
#include "runtime/graph/file/specialize.h"
#include "runtime/graph/record/traits_of_device.h"

namespace spirloom::internal {
namespace {

std::vector<SymbolInfo> SymbolsOf(const graph::Graph& graph) {
  std::vector<SymbolInfo> symbols;
  for (const graph::Symbol& symbol : graph.symbols) {
    symbols.push_back({symbol.name, symbol.min, symbol.max});
  }
  return symbols;
}

std::vector<IntInputInfo> IntInputsOf(const graph::Graph& graph) {
  std::vector<IntInputInfo> inputs;
  for (const graph::IntInput& input : graph.int_inputs) {
    const graph::Symbol& symbol = graph.symbols[input.symbol];
    inputs.push_back({input.name, symbol.min, symbol.max, input.position});
  }
  return inputs;
}

std::vector<uint32_t> IntSymbolsOf(const graph::Graph& graph) {
  std::vector<uint32_t> symbols;
  for (const graph::IntInput& input : graph.int_inputs) symbols.push_back(input.symbol);
  return symbols;
}

std::vector<std::vector<std::byte>> InitialStatesOf(const graph::Graph& graph) {
  std::vector<std::vector<std::byte>> states(graph.states.size());
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const int32_t constant = graph.tensors[graph.states[i]].initial;
    if (constant < 0) continue;
    const std::span<const std::byte> bytes = graph.constants[static_cast<size_t>(constant)];
    states[i].assign(bytes.begin(), bytes.end());
  }
  return states;
}

// Returns the sum of the differences of the sizes.
uint64_t DistanceOf(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  uint64_t distance = 0;
  for (size_t i = 0; i < a.size(); ++i) distance += static_cast<uint64_t>(std::abs(a[i] - b[i]));
  return distance;
}

// Attempts to specialize a plan cost time, and so do plans that are kept for it. Of a graph whose
// plan changes at most sizes, one new shape in kMaxFailures is tried.
constexpr size_t kMaxFailures = 8;

}  // namespace

DeviceConfig DeviceConfig::Of(const RuntimeState& runtime) {
  graph::DeviceTraits traits = graph::TraitsOf(*runtime.device);
  traits.quarantined = runtime.quarantine.variants();
  return {std::move(traits),
          runtime.device->unified_memory() ? HostAccess::kDirect : HostAccess::kStaged};
}

Method::Method(LoadedModel& model, std::unique_ptr<const graph::Graph> graph)
    : model_(model),
      name_(graph->name),
      symbols_(SymbolsOf(*graph)),
      int_inputs_(IntInputsOf(*graph)),
      int_symbols_(IntSymbolsOf(*graph)),
      initial_states_(InitialStatesOf(*graph)),
      graph_(std::move(graph)) {}

Result<Compilation> Method::CompileForMax() {
  const std::scoped_lock compiling(compiling_);
  if (fixed_ != nullptr) return Compilation{fixed_};
  const std::vector<int64_t> sizes = graph::MaxValues(graph_->symbols);
  SPIRLOOM_TRY_ASSIGN(auto found, Find(sizes));
  if (found != nullptr) return Compilation{std::move(found)};
  SPIRLOOM_TRY_ASSIGN(Compilation compilation, CompileGraph(model_, model_.options, *graph_, sizes,
                                                            SPIRLOOM_FAST_RESIZE != 0));
  Add(compilation.graph);
  AddPlan(*compilation.graph);
  if (symbols_.empty()) FixCompiling(compilation.graph);
  return compilation;
}

void Method::Fix(std::shared_ptr<const CompiledGraph> compiled) {
  const std::scoped_lock compiling(compiling_);
  if (fixed_ == nullptr) FixCompiling(std::move(compiled));
}

void Method::FixCompiling(std::shared_ptr<const CompiledGraph> compiled) {
  model_.weights->ReleaseUnneeded(*graph_);
  plans_.clear();
  const std::scoped_lock lock(mutex_);
  fixed_ = std::move(compiled);
  graph_ = nullptr;
}

bool Method::is_fixed() const {
  const std::scoped_lock lock(mutex_);
  return fixed_ != nullptr;
}

Status Method::CheckOpen() const {
  if (graph_ != nullptr) return Status();
  return Error(StatusCode::kInvalidArgument, "The shapes of the method are fixed.");
}

std::vector<int64_t> Method::IntValues(std::span<const int64_t> symbols) const {
  std::vector<int64_t> values;
  for (const uint32_t symbol : int_symbols_) values.push_back(symbols[symbol]);
  return values;
}

Result<std::vector<int64_t>> Method::Solve(std::span<const Shape> shapes,
                                           std::span<const int64_t> ints) const {
  const std::scoped_lock lock(mutex_);
  SPIRLOOM_TRY(CheckOpen());
  return graph::SolveSymbols(*graph_, shapes, ints, model_.options.allow_exceeding_max);
}

Result<Compilation> Method::Compile(const std::vector<int64_t>& sizes) {
  SPIRLOOM_TRY_ASSIGN(auto known, Find(sizes));
  if (known != nullptr) return Compilation{std::move(known)};
  const std::scoped_lock compiling(compiling_);
  SPIRLOOM_TRY_ASSIGN(auto found, Find(sizes));  // another context may have compiled it meanwhile
  if (found != nullptr) return Compilation{std::move(found)};
  const bool specializes = SPIRLOOM_FAST_RESIZE != 0 && IsWorthSpecializing();
  if (SPIRLOOM_FAST_RESIZE != 0) {
    SPIRLOOM_TRY_ASSIGN(Compilation similar, Specialize(sizes, !specializes));
    if (similar.graph != nullptr) {
      Add(similar.graph);
      return similar;
    }
  }
  SPIRLOOM_TRY_ASSIGN(const graph::Graph specialized, graph::Specialize(*graph_, sizes));
  SPIRLOOM_TRY_ASSIGN(Compilation compilation,
                      CompileGraph(model_, model_.options, specialized, sizes, specializes));
  Add(compilation.graph);
  AddPlan(*compilation.graph);
  return compilation;
}

Result<std::shared_ptr<const CompiledGraph>> Method::Find(const std::vector<int64_t>& sizes) {
  const std::scoped_lock lock(mutex_);
  SPIRLOOM_TRY(CheckOpen());
  std::erase_if(compiled_, [](const auto& graph) { return graph.expired(); });
  for (const auto& graph : compiled_) {
    auto found = graph.lock();
    if (found != nullptr && found->sizes == sizes) return found;
  }
  return std::shared_ptr<const CompiledGraph>();
}

void Method::Add(const std::shared_ptr<const CompiledGraph>& compiled) {
  const std::scoped_lock lock(mutex_);
  compiled_.push_back(compiled);
}

void Method::AddPlan(const CompiledGraph& graph) {
  if (!graph.base->specializer) return;
  constexpr size_t kMaxPlans = 16;
  if (plans_.size() == kMaxPlans) plans_.erase(plans_.begin());
  plans_.push_back({graph.base, graph.shared_weights, {graph.sizes}, {}});
}

bool Method::IsWorthSpecializing() const {
  return failures_ < kMaxFailures || new_shapes_ % kMaxFailures == 0;
}

Result<Compilation> Method::Specialize(const std::vector<int64_t>& sizes, bool same_sizes_only) {
  constexpr size_t kMaxPipelines = 256;
  // Each evaluates the formulas until a decision differs. Compiling takes as long as about ten.
  constexpr size_t kMaxAttempts = 2;
  constexpr size_t kMaxSizes = 256;  // per plan
  std::vector<uint64_t> distances;   // from the most recently used plan on
  for (size_t i = plans_.size(); i-- > 0;) {
    uint64_t nearest = UINT64_MAX;
    for (const std::vector<int64_t>& known : plans_[i].sizes) {
      nearest = std::min(nearest, DistanceOf(known, sizes));
    }
    distances.push_back(nearest);
  }
  std::vector<size_t> order = SortedOrder(distances);
  order.resize(std::min(order.size(), kMaxAttempts));
  ++new_shapes_;
  for (const size_t place : order) {
    const uint64_t distance = distances[place];
    if (same_sizes_only && distance > 0) break;
    const size_t i = plans_.size() - 1 - place;
    KnownPlan& known = plans_[i];
    SPIRLOOM_TRY_ASSIGN(Compilation compilation,
                        SpecializeGraph(model_, *graph_, known.plan, known.weights.lock(), sizes));
    if (compilation.graph == nullptr) continue;
    if (distance > 0 && failures_ > 0) --failures_;
    known.weights = compilation.graph->shared_weights;
    for (const graph::SharedPipeline& pipeline : compilation.graph->pipelines) {
      if (known.pipelines.size() == kMaxPipelines) break;
      if (std::ranges::find(known.pipelines, pipeline) == known.pipelines.end()) {
        known.pipelines.push_back(pipeline);
      }
    }
    if (distance > 0 && known.sizes.size() < kMaxSizes) known.sizes.push_back(sizes);
    KnownPlan used = std::move(known);
    plans_.erase(plans_.begin() + static_cast<std::ptrdiff_t>(i));
    plans_.push_back(std::move(used));
    return compilation;
  }
  if (!same_sizes_only && failures_ < 2 * kMaxFailures) ++failures_;
  return Compilation();
}

Result<std::shared_ptr<LoadedModel>> LoadedModel::Create(std::shared_ptr<RuntimeState> runtime,
                                                         const graph::GraphSource& source,
                                                         const graph::Graph& graph,
                                                         const ModelOptions& options,
                                                         const DeviceConfig& config) {
  const vulkan::Device& device = *runtime->device;
  SPIRLOOM_TRY(device.CheckAlive());
  auto model = std::make_shared<LoadedModel>();
  model->runtime = std::move(runtime);
  model->options = options;
  model->config = config;
  model->limits = LimitsFor(graph, options);
  model->method_names = graph.methods;
  model->attachments = graph.attachments;
  model->budget = std::make_shared<graph::MemoryBudget>(model->limits.device_bytes);
  SPIRLOOM_TRY_ASSIGN(model->weights, graph::Weights::Create(device, model->budget, source,
                                                             config.access.direct, config.watch));
  return model;
}

std::shared_ptr<Method> LoadedModel::AddMethod(std::unique_ptr<const graph::Graph> graph) {
  auto method = std::make_shared<Method>(*this, std::move(graph));
  std::erase_if(methods, [](const auto& other) { return other.expired(); });
  methods.push_back(method);
  return method;
}

Result<std::shared_ptr<Method>> LoadedModel::FindMethod(const std::string& name) {
  const std::scoped_lock lock(mutex);
  for (const auto& known : methods) {
    auto method = known.lock();
    if (method != nullptr && method->name() == name) return method;
  }
  if (std::ranges::find(method_names, name) == method_names.end()) {
    return graph::UnknownMethod(name, method_names);
  }
  SPIRLOOM_TRY_ASSIGN(std::unique_ptr<const graph::Graph> graph, weights->ParseMethod(name));
  return AddMethod(std::move(graph));
}

graph::Limits LimitsFor(const graph::Graph& graph, const ModelOptions& options) {
  graph::Limits limits = graph::Limits::Of(graph);
  if (options.max_dispatches > 0) limits.dispatches = options.max_dispatches;
  if (options.max_device_bytes > 0) limits.device_bytes = options.max_device_bytes;
  return limits;
}

uint64_t NanosecondsSince(std::chrono::steady_clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start)
          .count());
}

}  // namespace spirloom::internal
