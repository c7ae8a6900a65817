#include "runtime/graph/plan/lowering.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/plan/call_lowering.h"
#include "runtime/graph/plan/dead_nodes.h"
#include "runtime/graph/plan/joined_parts.h"
#include "runtime/graph/plan/placed_updates.h"
#include "runtime/graph/plan/storage_choice.h"
#include "runtime/graph/plan/view_lowering.h"

namespace spirloom::graph {
namespace {

class Lowering {
 public:
  Lowering(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
           const LoweringOptions& options)
      : graph_(graph),
        index_(index),
        device_(device),
        storage_(options.storage == Storage::kAuto ? Storage::kBuffer : options.storage),
        calls_(index, device, options.kernels, options.tuned, options.max_dispatches),
        home_(graph.tensors.size(), kNoTensor),
        leaves_(graph.tensors.size()) {
    for (uint32_t output : graph.outputs) leaves_[output] = true;
    for (uint32_t update : graph.updates) leaves_[update] = true;
  }

  Result<Plan> Run() {
    AddSources();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      calls_.SetNode(&graph_.nodes[i], i);
      SPIRLOOM_TRY_WHILE(LowerNode(graph_.nodes[i]), {"preparing ", calls_.node()});
    }
    SPIRLOOM_TRY(calls_.missing().ToStatus(index_));
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      calls_.SetNode(nullptr, i);
      SPIRLOOM_TRY_WHILE(AddOutput(i), {"preparing ", calls_.node()});
    }
    SPIRLOOM_TRY(AddUpdates());
    SPIRLOOM_TRY(calls_.missing().ToStatus(index_));
    for (uint32_t input : calls_.plan().inputs) SPIRLOOM_TRY(CheckAddressable("Input", input));
    for (uint32_t output : calls_.plan().outputs) SPIRLOOM_TRY(CheckAddressable("Output", output));
    for (uint32_t state : calls_.plan().states) SPIRLOOM_TRY(CheckAddressable("State", state));
    RemoveDeadNodes(calls_.plan());
    JoinParts(calls_.plan(), device_);
    PlaceUpdates(calls_.plan());
    return std::move(calls_.plan());
  }

 private:
  // The host passes inputs, takes outputs and does both with states, so their sizes are numbers
  // that it can count to.
  Status CheckAddressable(const char* what, uint32_t tensor) {
    const PlanTensor& found = calls_.tensor(tensor);
    if (std::in_range<size_t>(found.size)) return Status();
    return Error(StatusCode::kUnsupported, {what, " ", Quote(found.name), " takes ", found.size,
                                            " bytes, more than this host of 32 bits can address."});
  }

  // A graph tensor as the file declares it.
  uint32_t AddDeclared(uint32_t graph_tensor) {
    assert(home_[graph_tensor] == kNoTensor);  // one producer each
    const Tensor& source = graph_.tensors[graph_tensor];
    PlanTensor tensor;
    tensor.name = source.name;
    tensor.desc.dtype = source.dtype;
    tensor.desc.shape = ops::Ints(std::span<const int64_t>(source.shape));
    tensor.desc.storage = Storage::kBuffer;
    tensor.size = source.size;
    std::deque<PlanTensor>& tensors = calls_.plan().tensors;
    tensors.push_back(std::move(tensor));
    home_[graph_tensor] = static_cast<uint32_t>(tensors.size() - 1);
    return home_[graph_tensor];
  }

  void AddSources() {
    std::vector<uint32_t> first_of(graph_.constants.size(), kNoTensor);
    for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
      if (graph_.tensors[i].constant < 0) continue;
      const uint32_t added = AddDeclared(i);
      PlanTensor& tensor = calls_.tensor(added);
      tensor.is_constant = true;
      // Tensors that are the same bytes are one buffer.
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

  // Where the graph wants the node's outputs, if it says so.
  Storage AskedStorage(const Node& node) const {
    for (uint32_t output : node.outputs) {
      const Storage storage = graph_.tensors[output].storage;
      if (storage != Storage::kAuto) return storage;
    }
    return Storage::kAuto;
  }

  // Outputs of the graph and states leave it in buffers: what can put them there by itself saves a
  // copy.
  Storage RequestedStorage(const Node& node, const ops::OpInfo& op) const {
    const Storage asked = AskedStorage(node);
    if (asked != Storage::kAuto) return asked;
    const bool leaves = std::ranges::any_of(node.outputs, [&](uint32_t t) { return leaves_[t]; });
    return leaves && HasOutputWithOwnStorage(op) ? Storage::kBuffer : storage_;
  }

  Status LowerNode(const Node& node) {
    const ops::OpEntry* op = index_.FindOp(node.op);
    std::vector<uint32_t> outputs;
    for (uint32_t output : node.outputs) outputs.push_back(AddDeclared(output));
    if (op == nullptr) {
      const Storage asked = AskedStorage(node);
      const DType dtype = outputs.empty() ? DType::kF32 : calls_.tensor(outputs[0]).desc.dtype;
      calls_.missing().AddOp(node.op, dtype, asked == Storage::kAuto ? storage_ : asked,
                             calls_.node());
      return Status();
    }
    std::vector<Arg> args = CompleteArgs(*op->op, node.args);
    SPIRLOOM_TRY(CheckArgs(*op->op, args));
    OpCall call = calls_.Call(*op, PlanArgs(std::move(args)), std::move(outputs));
    SPIRLOOM_TRY(CheckOutputs(call, node.outputs));
    const Storage requested = RequestedStorage(node, *op->op);
    if (op->op->view_of >= 0) {
      SPIRLOOM_TRY_ASSIGN(const bool aliased, LowerView(calls_, call, requested, device_));
      if (aliased) return Status();
    }
    const Storage source = SourceStorage(call.args(), requested);
    const uint32_t output = call.outputs()[0];
    SPIRLOOM_TRY(calls_.Lower(call, StorageChoices(*op->op, source, requested), node.name));
    NoteStorage(calls_.tensor(output).storage(), requested);
    return Status();
  }

  void NoteStorage(Storage chosen, Storage requested) {
    if (chosen == requested) return;
    Plan& plan = calls_.plan();
    if (plan.fallbacks++ > 0) return;
    plan.first_fallback =
        Concat({calls_.node(), " in a ", Name(chosen), ", not in a ", Name(requested)});
  }

  // The arguments with tensors of the plan.
  std::vector<Arg> PlanArgs(std::vector<Arg> args) const {
    for (Arg& arg : args) {
      for (uint32_t& tensor : arg.tensors) {
        tensor = home_[tensor];
        assert(tensor != kNoTensor);  // nodes come after what they read
      }
    }
    return args;
  }

  // Of the first tensor, if any.
  Storage SourceStorage(const std::vector<Arg>& args, Storage otherwise) {
    for (const Arg& arg : args) {
      if (!arg.tensors.empty()) return calls_.tensor(arg.tensors[0]).storage();
    }
    return otherwise;
  }

  Status SetShape(uint32_t tensor, const ops::Ints& shape) {
    PlanTensor& target = calls_.tensor(tensor);
    target.desc.shape = shape;
    SPIRLOOM_TRY_ASSIGN(target.size, DenseSize(target.desc));
    return Status();
  }

  // Declared outputs must be what the op computes.
  Status CheckOutputs(OpCall& call, const std::vector<uint32_t>& node_outputs) {
    const ops::OpInfo& op = call.op();
    const std::vector<uint32_t>& outputs = call.outputs();
    if (outputs.size() != op.outputs.size()) {
      return Error(StatusCode::kInvalidFile,
                   {"Number of outputs (", outputs.size(), ") differs from that of ", op.name, " (",
                    op.outputs.size(), ")."});
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
      return Error(StatusCode::kInvalidFile,
                   {"Output ", i, " is declared as ", Describe(declared), ", but ", op.name,
                    " computes ", Describe(inferred[i]), "."});
    }
    return Status();
  }

  // Lets the tensor that becomes output i live in the output's memory; one that cannot (an input, a
  // constant, a state, a part of something, another output) is copied there at the end of each run.
  Status AddOutput(size_t i) {
    const uint32_t home = home_[graph_.outputs[i]];
    SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, calls_.InStorage(home, Storage::kBuffer));
    Plan& plan = calls_.plan();
    PlanTensor& root = plan.tensors[plan.Root(tensor)];
    const bool is_whole = root.size == plan.tensors[tensor].size;
    if (is_whole && root.is_temporary()) {
      root.output = static_cast<int32_t>(i);
      plan.outputs.push_back(tensor);
      return Status();
    }
    SPIRLOOM_TRY_ASSIGN(const uint32_t copy, AddCopied(tensor));
    plan.tensors[copy].name = plan.tensors[home].name;
    plan.tensors[copy].output = static_cast<int32_t>(i);
    plan.outputs.push_back(copy);
    return Status();
  }

  // A copy of the tensor as it is at this place of a run.
  Result<uint32_t> AddCopied(uint32_t tensor) {
    const PlanTensor& source = calls_.tensor(tensor);
    SPIRLOOM_TRY_ASSIGN(const uint32_t copy, calls_.AddTensor(source.name, source.desc));
    calls_.AddCopy(tensor, copy);
    return copy;
  }

  // Ends a run with copies of the states' updates to the states. What is another state's is taken
  // before any changes.
  Status AddUpdates() {
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

  Result<uint32_t> UpdateOf(size_t i) {
    Plan& plan = calls_.plan();
    const uint32_t state = plan.states[i];
    const uint32_t home = home_[graph_.updates[i]];
    const ops::TensorDesc& desc = calls_.tensor(state).desc;
    const ops::TensorDesc& found = calls_.tensor(home).desc;
    if (found.dtype != desc.dtype || found.shape != desc.shape) {
      return Error(StatusCode::kInvalidFile,
                   {"State ", Quote(calls_.tensor(state).name), " is ", Describe(desc),
                    ", but its update is ", Describe(found), "."});
    }
    SPIRLOOM_TRY_ASSIGN(const uint32_t update, calls_.InStorage(home, Storage::kBuffer));
    const uint32_t root = plan.Root(update);
    if (root == state) return root;
    return plan.tensors[root].state < 0 ? update : AddCopied(update);
  }

  const Graph& graph_;
  const ops::OpIndex& index_;
  const DeviceTraits& device_;
  const Storage storage_;
  CallLowering calls_;
  std::vector<uint32_t> home_;  // graph tensor -> plan tensor, in the storage of its producer
  std::vector<bool> leaves_;    // graph tensor -> whether it is an output or a state's update
};

}  // namespace

Result<Plan> Lower(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
                   const LoweringOptions& options) {
  return Lowering(graph, index, device, options).Run();
}

}  // namespace spirloom::graph
