#include "runtime/graph/plan/lowering.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <span>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/plan/storage_choice.h"
#include "runtime/graph/plan/view_lowering.h"

namespace spirloom::graph {

Lowering::Lowering(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
                   const CompileOptions& options)
    : graph_(graph),
      index_(index),
      device_(device),
      storage_(options.storage == Storage::kAuto ? Storage::kBuffer : options.storage),
      trace_(options.trace),
      calls_(index, device, options.kernels, options.tuned.get(), options.max_dispatches),
      plan_tensor_(graph.tensors.size(), kNoTensor),
      is_result_(graph.tensors.size()) {
  calls_.TraceTo(options.trials, options.trace);
  for (uint32_t output : graph.outputs) is_result_[output] = true;
  for (uint32_t update : graph.updates) is_result_[update] = true;
}

Status Lowering::Infer() {
  AddSources();
  inferred_.resize(graph_.nodes.size());
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    calls_.SetNode(&graph_.nodes[i], i);
    SPIRLOOM_TRY_WHILE(InferNode(i), "preparing {}", calls_.node());
  }
  return Status();
}

Status Lowering::SelectKernels() {
  for (size_t i = 0; i < inferred_.size(); ++i) {
    if (inferred_[i] == nullptr) continue;
    const Node& node = graph_.nodes[i];
    calls_.SetNode(&node, i);
    SPIRLOOM_TRY_WHILE(LowerNode(node, *inferred_[i]), "preparing {}", calls_.node());
    inferred_[i] = nullptr;
  }
  SPIRLOOM_TRY(calls_.missing().ToStatus(index_));
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    calls_.SetNode(nullptr, i);
    SPIRLOOM_TRY_WHILE(AddOutput(i), "preparing {}", calls_.node());
  }
  SPIRLOOM_TRY(AddUpdates());
  SPIRLOOM_TRY(calls_.missing().ToStatus(index_));
  for (uint32_t input : plan().inputs) SPIRLOOM_TRY(CheckAddressable("Input", input));
  for (uint32_t output : plan().outputs) SPIRLOOM_TRY(CheckAddressable("Output", output));
  for (uint32_t state : plan().states) SPIRLOOM_TRY(CheckAddressable("State", state));
  return Status();
}

// Inputs, outputs and states are accessed by the host, so their sizes must fit size_t.
Status Lowering::CheckAddressable(const char* kind, uint32_t tensor) {
  const PlanTensor& found = calls_.tensor(tensor);
  if (std::in_range<size_t>(found.size)) return Status();
  return Error(StatusCode::kUnsupported,
               "{} {} has {} bytes, which exceeds the address space of this 32-bit host.", kind,
               Quoted{found.name}, found.size);
}

// Adds a tensor of the graph, as declared in the file.
uint32_t Lowering::AddDeclared(uint32_t graph_tensor) {
  assert(plan_tensor_[graph_tensor] == kNoTensor);  // each tensor has one producer
  const Tensor& source = graph_.tensors[graph_tensor];
  PlanTensor tensor;
  tensor.name = source.name;
  tensor.desc.dtype = source.dtype;
  tensor.desc.shape = ops::Ints(std::span<const int64_t>(source.shape));
  tensor.desc.storage = Storage::kBuffer;
  tensor.size = source.size;
  std::deque<PlanTensor>& tensors = calls_.plan().tensors;
  tensors.push_back(std::move(tensor));
  plan_tensor_[graph_tensor] = static_cast<uint32_t>(tensors.size() - 1);
  return plan_tensor_[graph_tensor];
}

void Lowering::AddSources() {
  std::vector<uint32_t> first_of(graph_.constants.size(), kNoTensor);
  for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
    if (graph_.tensors[i].constant < 0) continue;
    const uint32_t added = AddDeclared(i);
    PlanTensor& tensor = calls_.tensor(added);
    tensor.is_constant = true;
    // Tensors with the same constant share a buffer.
    uint32_t& first = first_of[static_cast<size_t>(graph_.tensors[i].constant)];
    if (first == kNoTensor) {
      first = added;
      tensor.constant = graph_.tensors[i].constant;
    } else {
      tensor.alias_of = first;
    }
  }
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const uint32_t tensor = AddDeclared(graph_.inputs[i]);
    calls_.tensor(tensor).input = static_cast<int32_t>(i);
    calls_.plan().inputs.push_back(tensor);
  }
  for (size_t i = 0; i < graph_.states.size(); ++i) {
    const uint32_t tensor = AddDeclared(graph_.states[i]);
    calls_.tensor(tensor).state = static_cast<int32_t>(i);
    calls_.tensor(tensor).constant = graph_.tensors[graph_.states[i]].initial;
    calls_.plan().states.push_back(tensor);
  }
}

// Returns the storage that the graph declares for the node's outputs, or kAuto.
Storage Lowering::DeclaredStorage(const Node& node) const {
  for (uint32_t output : node.outputs) {
    const Storage storage = graph_.tensors[output].storage;
    if (storage != Storage::kAuto) return storage;
  }
  return Storage::kAuto;
}

// Graph outputs and states must be in buffers. If the op supports outputs in another storage than
// its own, requesting a buffer avoids a copy.
Storage Lowering::RequestedStorage(const Node& node, const ops::OpInfo& op) const {
  const Storage declared_storage = DeclaredStorage(node);
  if (declared_storage != Storage::kAuto) return declared_storage;
  const bool is_result =
      std::ranges::any_of(node.outputs, [&](uint32_t t) { return is_result_[t]; });
  return is_result && HasOutputWithOwnStorage(op) ? Storage::kBuffer : storage_;
}

Status Lowering::InferNode(size_t i) {
  const Node& node = graph_.nodes[i];
  const ops::OpEntry* op = index_.FindOp(node.op);
  std::vector<uint32_t> outputs;
  for (uint32_t output : node.outputs) outputs.push_back(AddDeclared(output));
  if (op == nullptr) {
    const Storage declared_storage = DeclaredStorage(node);
    const DType dtype = outputs.empty() ? DType::kF32 : calls_.tensor(outputs[0]).desc.dtype;
    calls_.missing().AddOp(node.op, dtype,
                           declared_storage == Storage::kAuto ? storage_ : declared_storage,
                           calls_.node());
    return Status();
  }
  std::vector<Arg> args = CompleteArgs(*op->op, node.args);
  SPIRLOOM_TRY(CheckArgs(*op->op, args));
  inferred_[i] = std::make_unique<OpCall>(*op, PlanArgs(std::move(args)), std::move(outputs),
                                          plan().tensors, device_.properties);
  return CheckOutputs(*inferred_[i], node.outputs);
}

Status Lowering::LowerNode(const Node& node, OpCall& call) {
  const ops::OpInfo& op = call.op();
  const Storage requested = RequestedStorage(node, op);
  if (trace_ != nullptr && IsTexture(requested)) trace_->is_complete = false;
  if (op.view_of >= 0) {
    SPIRLOOM_TRY_ASSIGN(const bool aliased, LowerView(calls_, call, requested, device_));
    if (aliased && trace_ != nullptr) trace_->calls.push_back(Traced(call));
    if (aliased) return Status();
  }
  const Storage source = SourceStorage(call.args(), requested);
  const uint32_t output = call.outputs()[0];
  SPIRLOOM_TRY(calls_.Lower(call, StorageChoices(op, source, requested), node.name));
  CountFallback(calls_.tensor(output).storage(), requested);
  return Status();
}

void Lowering::CountFallback(Storage chosen, Storage requested) {
  if (chosen == requested) return;
  Plan& plan = calls_.plan();
  if (plan.fallbacks++ > 0) return;
  plan.first_fallback =
      Format("{} in a {}, not in a {}", calls_.node(), Name(chosen), Name(requested));
}

// Replaces graph tensors by plan tensors.
std::vector<Arg> Lowering::PlanArgs(std::vector<Arg> args) const {
  for (Arg& arg : args) {
    for (uint32_t& tensor : arg.tensors) {
      tensor = plan_tensor_[tensor];
      assert(tensor != kNoTensor);  // nodes are topologically sorted
    }
  }
  return args;
}

// Returns the storage of the first tensor argument, or `default_storage`.
Storage Lowering::SourceStorage(const std::vector<Arg>& args, Storage default_storage) {
  for (const Arg& arg : args) {
    if (!arg.tensors.empty()) return calls_.tensor(arg.tensors[0]).storage();
  }
  return default_storage;
}

Status Lowering::SetShape(uint32_t tensor, const ops::Ints& shape) {
  PlanTensor& target = calls_.tensor(tensor);
  target.desc.shape = shape;
  SPIRLOOM_TRY_ASSIGN(target.size, DenseSize(target.desc));
  return Status();
}

// Checks the declared shapes and dtypes of the outputs.
Status Lowering::CheckOutputs(OpCall& call, const std::vector<uint32_t>& node_outputs) {
  const ops::OpInfo& op = call.op();
  const std::vector<uint32_t>& outputs = call.outputs();
  if (outputs.size() != op.outputs.size()) {
    return Error(StatusCode::kInvalidFile, "Number of outputs ({}) differs from that of {} ({}).",
                 outputs.size(), op.name, op.outputs.size());
  }
  SPIRLOOM_TRY_ASSIGN(std::vector<ops::TensorDesc> inferred, calls_.Infer(call));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& source = graph_.tensors[node_outputs[i]];
    if (source.inferred && source.dtype == inferred[i].dtype) {
      SPIRLOOM_TRY(SetShape(outputs[i], inferred[i].shape));
      continue;
    }
    const ops::TensorDesc& declared = calls_.tensor(outputs[i]).desc;
    if (declared.dtype == inferred[i].dtype && declared.shape == inferred[i].shape) continue;
    return Error(StatusCode::kInvalidFile, "Output {} is declared as {}, but {} computes {}.", i,
                 Describe(declared), op.name, Describe(inferred[i]));
  }
  return Status();
}

// Marks the tensor of output i as an output. A tensor that cannot be one (an input, constant,
// state, part of another tensor, other output) is copied to a new one at the end of each run.
Status Lowering::AddOutput(size_t i) {
  const uint32_t declared = plan_tensor_[graph_.outputs[i]];
  SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, calls_.InStorage(declared, Storage::kBuffer));
  Plan& plan = calls_.plan();
  PlanTensor& root = plan.tensors[plan.Root(tensor)];
  const bool is_whole = root.size == plan.tensors[tensor].size;
  if (trace_ != nullptr) {
    (is_whole ? trace_->equal_sizes : trace_->unequal_sizes).push_back({plan.Root(tensor), tensor});
  }
  if (is_whole && root.is_temporary()) {
    root.output = static_cast<int32_t>(i);
    plan.outputs.push_back(tensor);
    return Status();
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t copy, AddCopyOf(tensor));
  plan.tensors[copy].name = plan.tensors[declared].name;
  plan.tensors[copy].output = static_cast<int32_t>(i);
  plan.outputs.push_back(copy);
  return Status();
}

// Adds a copy of the current value of the tensor.
Result<uint32_t> Lowering::AddCopyOf(uint32_t tensor) {
  const PlanTensor& source = calls_.tensor(tensor);
  SPIRLOOM_TRY_ASSIGN(const uint32_t copy, calls_.AddTensor(source.name, source.desc));
  calls_.AddCopy(tensor, copy);
  if (trace_ != nullptr) trace_->copies.push_back({tensor, copy});
  return copy;
}

// Copies the new values to the states at the end of a run. If the new value of a state is another
// state, it is copied before any state changes.
Status Lowering::AddUpdates() {
  Plan& plan = calls_.plan();
  std::vector<uint32_t> updates;
  for (size_t i = 0; i < plan.states.size(); ++i) {
    calls_.SetNode(nullptr, i);
    SPIRLOOM_TRY_ASSIGN(const uint32_t update, UpdateOf(i));
    updates.push_back(update);
  }
  for (size_t i = 0; i < updates.size(); ++i) calls_.AddCopy(updates[i], plan.states[i]);
  return Status();
}

Result<uint32_t> Lowering::UpdateOf(size_t i) {
  Plan& plan = calls_.plan();
  const uint32_t state = plan.states[i];
  const uint32_t declared = plan_tensor_[graph_.updates[i]];
  const ops::TensorDesc& desc = calls_.tensor(state).desc;
  const ops::TensorDesc& found = calls_.tensor(declared).desc;
  if (found.dtype != desc.dtype || found.shape != desc.shape) {
    return Error(StatusCode::kInvalidFile, "State {} is {}, but its update is {}.",
                 Quoted{calls_.tensor(state).name}, Describe(desc), Describe(found));
  }
  if (trace_ != nullptr) trace_->equal_shapes.push_back({state, declared});
  SPIRLOOM_TRY_ASSIGN(const uint32_t update, calls_.InStorage(declared, Storage::kBuffer));
  const uint32_t root = plan.Root(update);
  if (root == state) return root;
  return plan.tensors[root].state < 0 ? update : AddCopyOf(update);
}

}  // namespace spirloom::graph
