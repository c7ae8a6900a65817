#include "runtime/eager/call_plan.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <optional>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/plan/call_lowering.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/graph/plan/op_call.h"
#include "runtime/graph/record/traits_of_device.h"

namespace spirloom::eager {
namespace {

using graph::Arg;
using graph::ArgKind;
using graph::PlanTensor;
using Kind = StreamArgument::Kind;
using Source = TensorPlace::Source;

constexpr size_t kMaxPlans = 10'000;

// Appends the bytes of a value to a key.
template <typename T>
void Append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendInts(std::string& key, const std::vector<int64_t>& values) {
  Append(key, values.size());
  for (const int64_t value : values) Append(key, value);
}

void AppendArgument(std::string& key, const StreamArgument& argument) {
  Append(key, argument.kind);
  switch (argument.kind) {
    case Kind::kNone:
      break;
    case Kind::kTensor:
    case Kind::kTensorList:
      Append(key, argument.tensors.size());
      for (const StreamTensor& tensor : argument.tensors) {
        Append(key, tensor.dtype);
        AppendInts(key, tensor.shape);
      }
      break;
    case Kind::kInt:
    case Kind::kBool:
      Append(key, argument.i);
      break;
    case Kind::kFloat:
      Append(key, argument.f);
      break;
    case Kind::kInts:
      AppendInts(key, argument.ints);
      break;
    case Kind::kString:
      Append(key, argument.s.size());
      key += argument.s;
      break;
  }
}

ArgKind KindOf(Kind kind) {
  constexpr ArgKind kKinds[] = {ArgKind::kNone, ArgKind::kTensor, ArgKind::kTensorList,
                                ArgKind::kInt,  ArgKind::kFloat,  ArgKind::kBool,
                                ArgKind::kInts, ArgKind::kString};
  return kKinds[static_cast<size_t>(kind)];
}

// Builds the plan of a call in steps; each step uses the results of earlier ones.
class CallCompiler {
 public:
  CallCompiler(internal::RuntimeState& runtime, graph::PipelinePool& pool, const ops::OpEntry& op,
               std::span<const StreamArgument> arguments, const std::vector<bool>& run_time_scalars)
      : runtime_(runtime),
        pool_(pool),
        op_(op),
        arguments_(arguments),
        run_time_scalars_(run_time_scalars),
        traits_(graph::TraitsOf(*runtime.device)) {}

  Result<std::unique_ptr<const CallPlan>> Compile() {
    SPIRLOOM_TRY(MakeInputs());
    SPIRLOOM_TRY(MakeOutputs());
    SPIRLOOM_TRY(SelectKernels());
    SPIRLOOM_TRY(SetPlaces());
    for (const graph::Dispatch& dispatch : plan_->list.dispatches)
      plan_->estimated_ns += dispatch.estimated_ns;
    for (const graph::PlanNode& node : plan_->plan.nodes) {
      const bool is_call = node.op != nullptr && node.op->op == op_.op;
      std::optional<std::vector<PushedScalar>> pushed(std::in_place);
      if (is_call) {
        pushed =
            PushedScalarsOf(*node.kernel, ops::KeyDType(node.variant.row->key), run_time_scalars_);
      }
      plan_->serves_all_scalars = plan_->serves_all_scalars && pushed.has_value();
      plan_->pushed_scalars.push_back(pushed.value_or(std::vector<PushedScalar>()));
    }
    return std::unique_ptr<const CallPlan>(std::move(plan_));
  }

 private:
  // Adds a graph tensor and returns its index.
  Result<uint32_t> AddTensor(const ops::TensorDesc& desc) {
    graph::Tensor tensor;
    tensor.dtype = desc.dtype;
    tensor.shape.assign(desc.shape.begin(), desc.shape.end());
    SPIRLOOM_TRY_ASSIGN(tensor.size, graph::DenseSize(desc));
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(graph_.tensors.size() - 1);
  }

  Status AddInput(const StreamTensor& given, Arg& arg) {
    if (given.shape.size() > kMaxRank) {
      return Error(StatusCode::kUnsupported, "A tensor has {} dimensions; expected at most {}.",
                   given.shape.size(), kMaxRank);
    }
    ops::TensorDesc desc;
    desc.dtype = given.dtype;
    desc.shape = ops::Ints(std::span<const int64_t>(given.shape));
    SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, AddTensor(desc));
    graph_.inputs.push_back(tensor);
    arg.tensors.push_back(tensor);
    // For inference, before the plan exists.
    inferred_.emplace_back().desc = desc;
    return {};
  }

  Status MakeInputs() {
    node_.op = op_.op->name;
    node_.name = op_.op->short_name;
    for (const StreamArgument& argument : arguments_) {
      Arg arg;
      arg.kind = KindOf(argument.kind);
      for (const StreamTensor& tensor : argument.tensors) SPIRLOOM_TRY(AddInput(tensor, arg));
      if (argument.kind == Kind::kInt || argument.kind == Kind::kBool) arg.ints = {argument.i};
      if (argument.kind == Kind::kInts) arg.ints = argument.ints;
      arg.sizes.assign(arg.ints.size(), graph::kFixedSize);
      arg.f = argument.f;
      arg.s = argument.s;
      node_.args.push_back(std::move(arg));
    }
    return graph::CheckArgs(*op_.op, node_.args);
  }

  Status MakeOutputs() {
    graph::OpCall call(op_, graph::CompleteArgs(*op_.op, node_.args), {}, inferred_,
                       traits_.properties);
    SPIRLOOM_TRY_ASSIGN(const std::vector<ops::TensorDesc> descs, graph::CallLowering::Infer(call));
    plan_ = std::make_unique<CallPlan>();
    for (const ops::TensorDesc& desc : descs) {
      SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, AddTensor(desc));
      const graph::Tensor& added = graph_.tensors[tensor];
      plan_->outputs.push_back({added.dtype, added.shape, added.size});
      node_.outputs.push_back(tensor);
    }
    graph_.outputs = node_.outputs;
    graph_.nodes.push_back(std::move(node_));
    return {};
  }

  // Plans and creates the pipelines until the driver compiles the selected kernels: others are
  // quarantined.
  Status SelectKernels() {
    for (;;) {
      traits_.quarantined = runtime_.quarantine.variants();
      const graph::CompileOptions options{.tuned = runtime_.tuning->kernels()};
      SPIRLOOM_TRY_ASSIGN(plan_->plan, graph::Compile(graph_, runtime_.index, traits_, options));
      SPIRLOOM_TRY_ASSIGN(plan_->list, graph::BuildDispatches(plan_->plan, traits_));
      std::string failed;
      const uint64_t before = runtime_.device->counters().pipelines;
      auto created = pool_.Get(*runtime_.device, *runtime_.layouts,
                               runtime_.pipeline_cache->handle(), plan_->list.pipelines, &failed);
      if (created.ok()) {
        plan_->pipelines = std::move(*created);
        if (runtime_.device->counters().pipelines != before) runtime_.SavePipelineCache();
        return {};
      }
      if (failed.empty() || !runtime_.replaces_failed_kernels) return std::move(created).status();
      runtime_.device->host().Log(LogLevel::kWarning,
                                  "The driver fails to compile {}. Another kernel is selected if "
                                  "there is one. {}",
                                  failed, created.status().message());
      runtime_.quarantine.Add(failed);
    }
  }

  Status SetPlaces() {
    const graph::Plan& plan = plan_->plan;
    std::vector<TensorPlace> roots(plan.tensors.size());
    for (uint32_t i = 0; i < plan.tensors.size(); ++i) {
      const PlanTensor& tensor = plan.tensors[i];
      if (IsTexture(tensor.storage())) {
        return Error(StatusCode::kUnsupported,
                     "The kernel of {} requires textures, which calls without a model lack.",
                     op_.op->name);
      }
      if (tensor.alias_of != graph::kNoTensor || tensor.size == 0) continue;
      if (tensor.input >= 0) {
        roots[i] = {.source = Source::kInput, .index = static_cast<uint32_t>(tensor.input)};
      } else if (tensor.output >= 0) {
        roots[i] = {.source = Source::kOutput, .index = static_cast<uint32_t>(tensor.output)};
      } else {
        roots[i] = {.source = Source::kScratch,
                    .index = static_cast<uint32_t>(plan_->scratch.size())};
        plan_->scratch.push_back(tensor.buffer_size());
      }
    }
    for (uint32_t i = 0; i < plan.tensors.size(); ++i) {
      TensorPlace place = roots[plan.Root(i)];
      place.offset = plan.tensors[i].alias_offset;
      place.size = place.source == Source::kNone ? 0 : plan.tensors[i].buffer_size();
      plan_->places.push_back(place);
    }
    return {};
  }

  internal::RuntimeState& runtime_;
  graph::PipelinePool& pool_;
  const ops::OpEntry& op_;
  const std::span<const StreamArgument> arguments_;
  const std::vector<bool>& run_time_scalars_;
  graph::DeviceTraits traits_;
  graph::Graph graph_;
  graph::Node node_;
  std::deque<PlanTensor> inferred_;
  std::unique_ptr<CallPlan> plan_;
};

}  // namespace

bool CallPlans::is_full() const { return entries_.size() >= kMaxPlans; }

void CallPlans::Clear() { entries_.clear(); }

const std::vector<bool>& CallPlans::RunTimeScalarsOf(size_t op) {
  const auto found = run_time_scalars_.find(op);
  if (found != run_time_scalars_.end()) return found->second;
  return run_time_scalars_.emplace(op, FindRunTimeScalars(*runtime_.index.ops()[op].op))
      .first->second;
}

void CallPlans::SetKey(size_t op, std::span<const StreamArgument> arguments, bool is_exact) {
  const std::vector<bool>& run_time_scalars = RunTimeScalarsOf(op);
  key_.clear();
  Append(key_, op);
  Append(key_, is_exact);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_scalar = arguments[i].kind == Kind::kFloat && i < run_time_scalars.size() &&
                           run_time_scalars[i] && !is_exact;
    if (is_scalar) {
      Append(key_, Kind::kFloat);
    } else {
      AppendArgument(key_, arguments[i]);
    }
  }
}

Result<const CallPlans::Entry*> CallPlans::Add(size_t op,
                                               std::span<const StreamArgument> arguments) {
  const ops::OpEntry& entry = runtime_.index.ops()[op];
  auto compiled =
      CallCompiler(runtime_, pipelines_, entry, arguments, RunTimeScalarsOf(op)).Compile();
  Entry added;
  if (compiled.ok()) {
    added.plan = std::move(*compiled);
    if (!added.plan->serves_all_scalars) {
      entries_[key_].is_exact = true;
      SetKey(op, arguments, /*is_exact=*/true);
    }
  } else {
    added.status = While(std::move(compiled).status(), "calling {}", entry.op->name);
    const StatusCode code = added.status.code();
    if (code == StatusCode::kOutOfMemory || code == StatusCode::kDeviceLost)
      return std::move(added.status);
    // The graph is not a file.
    if (code == StatusCode::kInvalidFile)
      added.status = Status(StatusCode::kInvalidArgument, added.status.message());
  }
  Entry& kept = entries_[key_];
  kept = std::move(added);
  return &kept;
}

Result<const CallPlan*> CallPlans::Find(size_t op, std::span<const StreamArgument> arguments) {
  const size_t count = runtime_.index.ops().size();
  if (op >= count) {
    return Error(StatusCode::kInvalidArgument,
                 "The index of the operator is {}; the runtime has {} operators.", op, count);
  }
  SetKey(op, arguments, /*is_exact=*/false);
  auto found = entries_.find(key_);
  if (found != entries_.end() && found->second.is_exact) {
    SetKey(op, arguments, /*is_exact=*/true);
    found = entries_.find(key_);
  }
  const Entry* entry = nullptr;
  if (found != entries_.end()) {
    entry = &found->second;
  } else {
    SPIRLOOM_TRY_ASSIGN(entry, Add(op, arguments));
  }
  if (entry->plan == nullptr) return Status(entry->status);
  return entry->plan.get();
}

}  // namespace spirloom::eager
