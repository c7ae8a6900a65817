// Turns calls of ops into nodes of a plan.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_LOWERING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_LOWERING_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/kernel_choice.h"
#include "runtime/graph/plan/missing.h"
#include "runtime/graph/plan/op_call.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/plan/storage_choice.h"
#include "runtime/ops/op_index.h"
#include "runtime/session/tuning_store.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Owns a plan while it grows: adds tensors, and nodes with all that they need before them (copies
// to another storage, packing), each made once. What the libraries or the device lack is noted, not
// an error, so that one message can list all of it. All that it is given must outlive it.
class CallLowering {
 public:
  // `kernels` and `tuned`, by CallText(), are ChooseKernel()'s wishes. All nodes together get
  // `max_dispatches`.
  CallLowering(const ops::OpIndex& index, const DeviceTraits& device,
               const std::vector<std::string>& kernels, const session::TunedKernels& tuned,
               uint64_t max_dispatches)
      : index_(index),
        device_(device),
        kernels_(kernels),
        tuned_(tuned),
        max_dispatches_(max_dispatches) {}

  Plan& plan() { return plan_; }
  MissingList& missing() { return missing_; }
  PlanTensor& tensor(uint32_t index) { return plan_.tensors[index]; }

  // The node of the graph that is lowered from now on, or, with null, the output.
  void SetNode(const Node* node, size_t index) {
    node_ = node;
    node_index_ = index;
  }
  // The same in words, for messages.
  std::string node() const;

  // Adds a tensor without a producer yet. Fails with kUnsupported for one that is too large.
  Result<uint32_t> AddTensor(const std::string& name, const ops::TensorDesc& desc);

  // The shapes and dtypes of the call's outputs. Fails with kInvalidFile when the arguments do not
  // fit.
  static Result<std::vector<ops::TensorDesc>> Infer(OpCall& call);

  // A call of `op` for Lower(); `args` have passed CheckArgs.
  OpCall Call(const ops::OpEntry& op, std::vector<Arg> args, std::vector<uint32_t> outputs) {
    return {op, std::move(args), std::move(outputs), plan_.tensors, device_.facts};
  }

  // Whether a kernel computes the call in `storage` on this device.
  Result<bool> CanCompute(OpCall& call, Storage storage);

  // Adds the node that computes the call's outputs, in the first storage of `choices` that a kernel
  // offers; `call` is used up. When the libraries lack it, the outputs count as buffers.
  Status Lower(OpCall& call, const std::vector<StorageChoice>& choices, const std::string& name);

  // Adds a node that copies the bytes of a buffer to another, which has as many, if any.
  void AddCopy(uint32_t source, uint32_t target);

  // The tensor in `storage`: itself, or a copy made once.
  Result<uint32_t> InStorage(uint32_t tensor, Storage storage);
  bool HasCopyIn(uint32_t tensor, Storage storage) const {
    return converted_.contains({tensor, storage});
  }

 private:
  struct NodeChoice {
    KernelSearch search;
    Storage storage = Storage::kBuffer;
  };

  // The kernel found fastest for the call, if any.
  std::string_view TunedKernel(const ops::OpInfo& op, const std::vector<Arg>& args,
                               Storage storage) const;
  Result<NodeChoice> ChooseStorage(OpCall& call, const std::vector<StorageChoice>& choices);
  Status NoteFailure(const OpCall& call, const KernelSearch& search);
  Status AddNode(OpCall& call, const NodeChoice& chosen, const std::string& name);
  // Puts what the call updates into its outputs, where the kernel looks for it.
  Status AddOldValues(const OpCall& call);
  Status AddOldValue(const OpCall& call, uint32_t old, uint32_t updated);
  // Fills node.operands, and puts into the call the tensors as they are bound.
  Status BindOperands(PlanNode& node, OpCall& call);
  void BindOutput(PlanNode& node, const ops::OperandInfo& operand, uint32_t output);
  // Binds `tensor`, or, where it must be in another storage, the copy it then becomes.
  Status BindInput(PlanNode& node, const ops::OperandInfo& operand, OpCall& call, uint32_t& tensor);
  bool AllConstant(const std::vector<Arg>& args) const;
  Status CheckBufferSizes(const PlanNode& node) const;
  // Evaluates what the node dispatches.
  Status AddDispatches(PlanNode& node, ops::CallFormulas& formulas);

  // The tensor in the form that `operand` reads, made once for equal calls of the packing op.
  Result<uint32_t> Pack(const ops::OperandInfo& operand, OpCall& call, Storage storage,
                        const std::string& name);
  Result<uint32_t> AddPacked(const ops::OpEntry& op, std::vector<Arg> args, Storage storage,
                             const std::string& name);

  const ops::OpIndex& index_;
  const DeviceTraits& device_;
  const std::vector<std::string>& kernels_;
  const session::TunedKernels& tuned_;
  const uint64_t max_dispatches_;
  Plan plan_;
  MissingList missing_;
  const Node* node_ = nullptr;
  size_t node_index_ = 0;
  uint64_t dispatches_ = 0;  // of the nodes so far
  int depth_ = 0;            // of calls that are lowered for one another
  std::map<std::pair<uint32_t, Storage>, uint32_t> converted_;
  std::map<std::string, uint32_t> packed_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_LOWERING_H_
