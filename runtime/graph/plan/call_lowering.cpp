#include "runtime/graph/plan/call_lowering.h"

#include <cassert>

#include "runtime/base/error.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/plan/call_text.h"
#include "runtime/ops/call_formulas.h"
#include "runtime/ops/packing_check.h"

namespace spirloom::graph {
namespace {

std::vector<Arg> CopyArgs(uint32_t tensor) {
  std::vector<Arg> args(1);
  args[0].kind = ArgKind::kTensor;
  args[0].tensors = {tensor};
  return args;
}

}  // namespace

TracedCall Traced(const OpCall& call) {
  return {&call.entry(), call.args(), call.outputs(), {}, {}, kNoCall, 0};
}

Result<uint32_t> CallLowering::AddTensor(const std::string& name, const ops::TensorDesc& desc) {
  PlanTensor tensor;
  tensor.name = name;
  tensor.desc = desc;
  SPIRLOOM_TRY_ASSIGN(tensor.size, DenseSize(desc));
  plan_.tensors.push_back(std::move(tensor));
  return static_cast<uint32_t>(plan_.tensors.size() - 1);
}

std::string CallLowering::node() const {
  return node_ == nullptr ? Concat("output ", node_index_) : DescribeNode(*node_, node_index_);
}

Result<std::vector<ops::TensorDesc>> CallLowering::Infer(OpCall& call) {
  std::vector<ops::TensorDesc> outputs(call.op().outputs.size());
  call.formulas().Infer(outputs);
  SPIRLOOM_TRY(call.formulas().status());
  return outputs;
}

Result<bool> CallLowering::CanCompute(OpCall& call, Storage storage) {
  SPIRLOOM_TRY_ASSIGN(const KernelSearch search,
                      ChooseKernel(index_, call, storage, device_, {kernels_, {}}));
  return search.choice.kernel != nullptr;
}

Result<CallLowering::NodeChoice> CallLowering::ChooseStorage(
    OpCall& call, const std::vector<StorageChoice>& choices) {
  NodeChoice best;
  for (const StorageChoice& choice : choices) {
    if (trace_ != nullptr && choice != choices.front()) trace_->is_complete = false;
    for (uint32_t output : call.outputs()) tensor(output).desc.storage = choice.output;
    const KernelPreferences preferences{
        kernels_, TunedKernel(tuned_, call.op(), call.args(), plan_.tensors, choice.node)};
    std::vector<KernelTrial> trials;
    SPIRLOOM_TRY_ASSIGN(KernelSearch search,
                        ChooseKernel(index_, call, choice.node, device_, preferences,
                                     trials_ == nullptr ? nullptr : &trials));
    if (trials_ != nullptr) {
      trials_->push_back(
          {node(), call.op().name, choice.node, search.choice.kernel, std::move(trials)});
    }
    if (search.choice.kernel != nullptr) return NodeChoice{std::move(search), choice.node};
    if (search.failure > best.search.failure) best.search = std::move(search);
  }
  return best;
}

Status CallLowering::Lower(OpCall& call, const std::vector<StorageChoice>& choices,
                           const std::string& name) {
  SPIRLOOM_TRY_ASSIGN(const NodeChoice chosen, ChooseStorage(call, choices));
  if (chosen.search.choice.kernel == nullptr) return ReportFailure(call, chosen.search);
  // Maximum nesting: packing ops whose operands are packed, and a storage copy at the end. OpIndex
  // rejects longer chains.
  constexpr int kMaxDepth = static_cast<int>(ops::kMaxPackingSteps) + 2;
  if (depth_ == kMaxDepth) {
    return Error(StatusCode::kInternal,
                 "Packing of operands for the call of {} is nested more than {} levels.",
                 call.op().name, kMaxDepth);
  }
  ++depth_;
  Status status = AddNode(call, chosen, name);
  --depth_;
  return status;
}

Status CallLowering::AddNode(OpCall& call, const NodeChoice& chosen, const std::string& name) {
  assert(!call.outputs().empty());
  PlanNode node;
  node.name = name;
  node.op = &call.entry();
  node.kernel = chosen.search.choice.kernel;
  node.variant = chosen.search.choice.variant;
  node.storage = chosen.storage;
  uint32_t traced = kNoCall;
  if (trace_ != nullptr) {
    SPIRLOOM_TRY_ASSIGN(traced, BeginTrace(call, *node.kernel));
  }
  SPIRLOOM_TRY(BindOperands(node, call));
  SPIRLOOM_TRY(AddInPlaceCopies(call));
  SPIRLOOM_TRY(CheckBufferSizes(node));
  node.outputs = call.outputs();
  node.is_constant = !call.op().updates() && AllConstant(call.args());
  SPIRLOOM_TRY(AddDispatches(node, call.formulas()));
  node.args = call.TakeArgs();
  for (uint32_t output : node.outputs) tensor(output).is_constant = node.is_constant;
  if (trace_ != nullptr) FinishTrace(traced, node);
  plan_.nodes.push_back(std::move(node));
  return Status();
}

Result<uint32_t> CallLowering::BeginTrace(OpCall& call, const ops::KernelInfo& kernel) {
  TracedCall traced = Traced(call);
  SPIRLOOM_TRY_ASSIGN(traced.packs, PacksOf(index_, kernel, call));
  trace_->calls.push_back(std::move(traced));
  return static_cast<uint32_t>(trace_->calls.size() - 1);
}

void CallLowering::FinishTrace(uint32_t index, PlanNode& node) {
  node.call = index;
  std::vector<TracedCall>& calls = trace_->calls;
  calls[index].node.emplace(node);
  std::vector<TracedPack>& packs = calls[index].packs;
  for (size_t i = 0; i < packs.size(); ++i) {
    const std::string_view op = node.kernel->operands[packs[i].operand].pack_op;
    packs[i].packed = node.operands[packs[i].operand][0];
    for (size_t k = index + 1; k < calls.size(); ++k) {
      const bool is_result = calls[k].outputs[0] == packs[i].packed && calls[k].op->op->name == op;
      if (!is_result || calls[k].packed_for != kNoCall) continue;
      calls[k].packed_for = index;
      calls[k].pack = i;
    }
  }
}

void CallLowering::AddCopy(uint32_t source, uint32_t target) {
  if (tensor(target).size == 0) return;
  PlanNode node;
  node.name = tensor(target).name;
  for (uint32_t operand : {source, target}) {
    node.operands.emplace_back();
    node.operands.back().push_back(operand);
  }
  plan_.nodes.push_back(std::move(node));
}

Status CallLowering::AddInPlaceCopies(const OpCall& call) {
  for (size_t i = 0; i < call.outputs().size(); ++i) {
    const int32_t arg = call.op().outputs[i].updates;
    if (arg < 0) continue;
    const uint32_t source = call.args()[static_cast<size_t>(arg)].tensors[0];
    SPIRLOOM_TRY(AddInPlaceCopy(call, source, call.outputs()[i]));
  }
  return Status();
}

Status CallLowering::AddInPlaceCopy(const OpCall& call, uint32_t original, uint32_t updated) {
  const ops::TensorDesc& desc = tensor(updated).desc;
  if (tensor(original).desc.dtype != desc.dtype || tensor(original).desc.shape != desc.shape) {
    return Error(StatusCode::kInternal,
                 "{} is declared in-place, but its output has another shape or dtype than the "
                 "updated argument.",
                 call.op().name);
  }
  if (trace_ != nullptr) trace_->equal_shapes.push_back({original, updated});
  SPIRLOOM_TRY_ASSIGN(const uint32_t source, InStorage(original, Storage::kBuffer));
  AddCopy(source, updated);
  return Status();
}

Status CallLowering::AddDispatches(PlanNode& node, ops::CallFormulas& formulas) {
  const ops::KernelInfo& kernel = *node.kernel;
  const int64_t repeat = formulas.Repeat(kernel);
  SPIRLOOM_TRY(formulas.status());
  if (repeat < 0 || static_cast<uint64_t>(repeat) > max_dispatches_ - dispatches_) {
    return Error(
        StatusCode::kUnsupported,
        "Number of dispatches ({} of this node, {} of earlier nodes) exceeds the limit ({}), which "
        "depends on the file size. Raise ModelOptions::max_dispatches for trusted files.",
        repeat, dispatches_, max_dispatches_);
  }
  dispatches_ += static_cast<uint64_t>(repeat);
  // Concat offsets are evaluated only where a concatenation can be elided.
  const bool may_elide_concat =
      !node.is_constant && tensor(node.outputs[0]).storage() == Storage::kBuffer;
  return EvaluateDispatches(node, repeat, may_elide_concat, formulas);
}

Status EvaluateDispatches(PlanNode& node, int64_t repeat, bool may_elide_concat,
                          ops::CallFormulas& formulas) {
  const ops::KernelInfo& kernel = *node.kernel;
  node.loop_iterations = std::max<int64_t>(formulas.LoopIterations(kernel, node.storage), 0);
  node.dispatches.resize(static_cast<size_t>(repeat));
  for (int64_t i = 0; i < repeat; ++i) {
    DispatchValues& dispatch = node.dispatches[static_cast<size_t>(i)];
    if (may_elide_concat) dispatch.concat_offset = formulas.ConcatOffset(kernel, node.storage, i);
    formulas.Grid(kernel, node.storage, i, dispatch.invocations);
    SPIRLOOM_TRY(formulas.status());
    if (dispatch.is_empty()) continue;
    dispatch.push.resize(kernel.push_bytes);
    formulas.Push(kernel, node.storage, i, dispatch.push);
    if (node.constants.empty()) {
      node.constants.resize(kernel.constants.size());
      formulas.Constants(kernel, node.constants);
    }
    SPIRLOOM_TRY(formulas.status());
  }
  return Status();
}

Status CallLowering::ReportFailure(const OpCall& call, const KernelSearch& search) {
  const ops::OpInfo& op = call.op();
  for (uint32_t output : call.outputs()) plan_.tensors[output].desc.storage = Storage::kBuffer;
  switch (search.failure) {
    case ChoiceFailure::kLibrary:
      missing_.AddVariant(op.name, *search.missing, search.missing_key, node());
      return Status();
    case ChoiceFailure::kDevice:
      missing_.AddCapability(op.name, search.missing_capabilities, node());
      return Status();
    case ChoiceFailure::kLoops:
      return Error(StatusCode::kUnsupported,
                   "The loops of {} need {} iterations for this call; this device's driver ends an "
                   "invocation's loops after {}. Use smaller tensors, or choose another device.",
                   op.name, search.loop_iterations, device_.properties.max_loop_iterations);
    case ChoiceFailure::kNone:
    case ChoiceFailure::kStorage:
    case ChoiceFailure::kWhen:
      break;
  }
  return Error(StatusCode::kUnsupported, "No kernel of {}{}", op.name,
               (search.failure == ChoiceFailure::kWhen
                    ? " supports this call."
                    : " supports a storage that fits the tensors of this call."));
}

Result<uint32_t> CallLowering::InStorage(uint32_t tensor, Storage storage) {
  if (plan_.tensors[tensor].storage() == storage) return tensor;
  const auto key = std::make_pair(tensor, storage);
  if (auto found = converted_.find(key); found != converted_.end()) return found->second;
  const ops::OpEntry* op = index_.FindOp(ops::kCopyOp);
  if (op == nullptr) {
    missing_.AddOp(ops::kCopyOp, plan_.tensors[tensor].desc.dtype, storage, node());
    return tensor;
  }
  const Storage from = plan_.tensors[tensor].storage();
  const std::string name = plan_.tensors[tensor].name;
  ops::TensorDesc desc = plan_.tensors[tensor].desc;
  desc.storage = storage;
  SPIRLOOM_TRY_ASSIGN(const uint32_t output, AddTensor(name, desc));
  std::vector<Arg> args = CopyArgs(tensor);
  SPIRLOOM_TRY(CheckArgs(*op->op, args));
  if (op->op->outputs.size() != 1) {
    return Error(StatusCode::kInternal, "{} must have one output.", ops::kCopyOp);
  }
  OpCall call = Call(*op, std::move(args), {output});
  SPIRLOOM_TRY(Lower(call, {{from, storage}}, name));
  if (missing_.empty() && plan_.tensors[output].storage() != storage) {
    return Error(StatusCode::kInternal, "{} has its output in storage {}; expected {}.",
                 ops::kCopyOp, Name(plan_.tensors[output].storage()), Name(storage));
  }
  if (!plan_.tensors[output].is_constant) ++plan_.layout_copies;
  converted_[key] = output;
  return output;
}
}  // namespace spirloom::graph
