#include "runtime/graph/model/tuner.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/model/execution_context.h"
#include "runtime/graph/plan/call_graph.h"
#include "runtime/graph/plan/call_text.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/graph/plan/kernel_choice.h"

namespace spirloom::internal {
namespace {

using graph::KernelChoice;
using graph::PlanNode;

// Runs per kernel; the minimum time counts. The first runs raise the clocks of the device.
constexpr int kMinRuns = 3;
constexpr std::chrono::milliseconds kMinTime{20};

// A kernel must be 5 % faster than the default, more than the noise of measurements.
bool ClearlyFaster(uint64_t ns, uint64_t default_ns) { return ns < default_ns - default_ns / 20; }

// A call that several kernels support. The default kernel is the first of `kernels`.
struct TunableCall {
  std::string text;
  const PlanNode* node;
  std::vector<KernelChoice> kernels;
};

// Returns the total GPU time of the dispatches of the call in the last run; absent if `variant` is
// not among them.
Result<std::optional<uint64_t>> TimeOf(const ExecutionContext& context, std::string_view variant) {
  SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> profile, ReadProfile(context));
  bool found = false;
  uint64_t time = 0;
  for (const DispatchProfile& dispatch : profile) {
    if (dispatch.node != graph::kCallName) continue;  // skip copies of inputs and outputs
    found = found || dispatch.variant == variant;
    time += dispatch.gpu_ns;
  }
  return found ? std::optional(time) : std::nullopt;
}

// Returns the minimum time of several runs. Inputs are zero, so that indices are in range.
Result<std::optional<uint64_t>> MinTime(ExecutionContext& context, std::string_view variant) {
  for (const HostTensor& input : context.current().inputs) {
    std::fill_n(input.data, input.size, std::byte{0});
  }
  std::optional<uint64_t> min;
  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < kMinRuns || std::chrono::steady_clock::now() - start < kMinTime; ++run) {
    SPIRLOOM_TRY(SubmitRun(context));
    SPIRLOOM_TRY(FinishRun(context, context.submitted));
    SPIRLOOM_TRY_ASSIGN(const std::optional<uint64_t> time, TimeOf(context, variant));
    if (!time) return time;
    min = std::min(min.value_or(*time), *time);
  }
  return min;
}

class KernelTuning {
 public:
  KernelTuning(std::shared_ptr<RuntimeState> runtime, const ModelOptions& options)
      : runtime_(std::move(runtime)),
        options_(options),
        traits_(DeviceConfig::Of(*runtime_).traits),
        measured_(runtime_->tuning->kernels()) {}

  Status Run(const graph::Graph& graph) {
    SPIRLOOM_TRY(vulkan::TimestampPool::Create(*runtime_->device, /*count=*/1).status());
    limits_ = LimitsFor(graph, options_);
    const graph::CompileOptions lowering{.storage = options_.storage,
                                         .kernels = options_.kernels,
                                         .max_dispatches = limits_.dispatches};
    SPIRLOOM_TRY_ASSIGN(plan_, graph::Compile(graph, runtime_->index, traits_, lowering));
    SPIRLOOM_TRY_ASSIGN(const std::vector<TunableCall> calls, FindCalls());
    session::TunedKernels tuned;
    for (size_t i = 0; i < calls.size(); ++i) {
      SPIRLOOM_TRY_ASSIGN(const TunedCall call, Tune(calls[i]));
      if (call.default_ns > 0) tuned[call.call] = call.kernel;
      if (options_.on_tuned) options_.on_tuned(call, i + 1, calls.size());
    }
    if (!tuned.empty()) runtime_->tuning->Add(tuned);
    return Status();
  }

 private:
  bool IsNamed(const ops::KernelInfo& kernel) const {
    return std::ranges::find(options_.kernels, kernel.name) != options_.kernels.end();
  }

  // Whether the store has a result for the call that can be used.
  bool IsMeasured(const std::string& call, std::span<const KernelChoice> kernels) const {
    if (options_.retune) return false;
    const auto found = measured_->find(call);
    return found != measured_->end() &&
           std::ranges::any_of(kernels, [&](const KernelChoice& choice) {
             return found->second == choice.kernel->name;
           });
  }

  Result<std::vector<TunableCall>> FindCalls() const {
    std::vector<TunableCall> calls;
    std::set<std::string> seen;
    for (const PlanNode& node : plan_.nodes) {
      if (node.op == nullptr || node.is_constant || IsNamed(*node.kernel)) continue;
      std::string text = graph::CallText(*node.op->op, node.args, plan_.tensors, node.storage);
      if (!seen.insert(text).second) continue;
      SPIRLOOM_TRY_ASSIGN(std::vector<KernelChoice> kernels, KernelsOf(node));
      if (kernels.size() < 2 || IsMeasured(text, kernels)) continue;
      calls.push_back({std::move(text), &node, std::move(kernels)});
    }
    return calls;
  }

  // Returns the kernels that support the node, its own first.
  Result<std::vector<KernelChoice>> KernelsOf(const PlanNode& node) const {
    std::vector<KernelChoice> kernels{{node.kernel, node.variant}};
    graph::OpCall call(*node.op, node.args, node.outputs, plan_.tensors, traits_.properties);
    for (const ops::KernelInfo& kernel : node.op->op->kernels) {
      SPIRLOOM_TRY_ASSIGN(
          const graph::KernelSearch search,
          graph::ChooseKernel(runtime_->index, call, node.storage, traits_, {{}, kernel.name}));
      if (search.choice.kernel == &kernel && &kernel != node.kernel) {
        kernels.push_back(search.choice);
      }
    }
    return kernels;
  }

  Result<TunedCall> Tune(const TunableCall& call) const {
    const KernelChoice& default_choice = call.kernels[0];
    SPIRLOOM_TRY_ASSIGN(const std::optional<uint64_t> default_time,
                        Measure(*call.node, default_choice));
    const std::string name = default_choice.kernel->name;
    TunedCall tuned{call.text, call.node->name,         name, default_time.value_or(0),
                    name,      default_time.value_or(0)};
    if (!default_time) return tuned;
    for (const KernelChoice& other : std::span(call.kernels).subspan(1)) {
      SPIRLOOM_TRY_ASSIGN(const std::optional<uint64_t> time, Measure(*call.node, other));
      if (!time || *time >= tuned.ns) continue;
      tuned.kernel = other.kernel->name;
      tuned.ns = *time;
    }
    if (tuned.kernel != name) SPIRLOOM_TRY(Confirm(call, tuned));
    return tuned;
  }

  // Measures the default kernel again, so that a disturbance of its first measurement does not
  // decide.
  Status Confirm(const TunableCall& call, TunedCall& tuned) const {
    SPIRLOOM_TRY_ASSIGN(const std::optional<uint64_t> time, Measure(*call.node, call.kernels[0]));
    tuned.default_ns = std::min(tuned.default_ns, time.value_or(tuned.default_ns));
    if (ClearlyFaster(tuned.ns, tuned.default_ns)) return Status();
    tuned.kernel = tuned.default_kernel;
    tuned.ns = tuned.default_ns;
    return Status();
  }

  // Returns nanoseconds, including the packing of nonconstant operands; absent if the call cannot
  // run alone with this kernel.
  Result<std::optional<uint64_t>> Measure(const PlanNode& node, const KernelChoice& choice) const {
    graph::CallGraph call = graph::MakeCallGraph(plan_, node);
    ModelOptions options;
    options.storage = node.storage;
    options.kernels = {choice.kernel->name};
    options.profile = true;
    options.max_dispatches = limits_.dispatches;
    options.max_device_bytes = limits_.device_bytes;
    auto context = LoadContext(runtime_, /*source=*/{},
                               std::make_unique<const graph::Graph>(std::move(call.graph)), options,
                               DeviceConfig::Of(*runtime_));
    if (context.ok()) return MinTime(**context, choice.variant.name);
    const StatusCode code = context.status().code();
    if (code == StatusCode::kOutOfMemory || code == StatusCode::kUnsupported) return {std::nullopt};
    return std::move(context).status();
  }

  const std::shared_ptr<RuntimeState> runtime_;
  const ModelOptions& options_;
  const graph::DeviceTraits traits_;
  const std::shared_ptr<const session::TunedKernels> measured_;  // before this tuning
  graph::Limits limits_;
  graph::Plan plan_;
};

}  // namespace

Status TuneKernels(const std::shared_ptr<RuntimeState>& runtime, const graph::Graph& graph,
                   const ModelOptions& options) {
  return KernelTuning(runtime, options).Run(graph).While("tuning kernels");
}

}  // namespace spirloom::internal

namespace spirloom {

const internal::Tuner* KernelAutotuner() {
  static constexpr internal::Tuner kTuner{&internal::TuneKernels};
  return &kTuner;
}

}  // namespace spirloom
