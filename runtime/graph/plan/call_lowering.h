// Lowers operator calls to nodes of a plan.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_LOWERING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_LOWERING_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/kernel_choice.h"
#include "runtime/graph/plan/lowering_trace.h"
#include "runtime/graph/plan/missing.h"
#include "runtime/graph/plan/op_call.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/plan/storage_choice.h"
#include "runtime/ops/op_index.h"
#include "runtime/session/tuning_store.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Returns the call for a trace, without packed operands and node.
TracedCall Traced(const OpCall& call);

// Returns the packed operands of a call with `kernel`, before it is bound, in order; `packed` is
// not set. Fails with kInvalidFile if a formula fails.
Result<std::vector<TracedPack>> PacksOf(const ops::OpIndex& index, const ops::KernelInfo& kernel,
                                        OpCall& call);

// Evaluates the loops, the grids, the push constants and the specialization constants of the
// `repeat` dispatches of a node with a kernel, and with `may_elide_concat` their concat offsets.
Status EvaluateDispatches(PlanNode& node, int64_t repeat, bool may_elide_concat,
                          ops::CallFormulas& formulas);

// Owns a plan during lowering: adds tensors and nodes, with the required layout copies and packing
// nodes, each once. Missing kernels and capabilities are collected, not returned as errors, so that
// one message lists all of them. All arguments must outlive it.
class CallLowering {
 public:
  // `kernels` and `tuned` (kernel by CallText()) are the preferences of ChooseKernel(). The limit
  // `max_dispatches` is for all nodes together.
  CallLowering(const ops::OpIndex& index, const DeviceTraits& device,
               const std::vector<std::string>& kernels, const session::TunedKernels* tuned,
               uint64_t max_dispatches)
      : index_(index),
        device_(device),
        kernels_(kernels),
        tuned_(tuned),
        max_dispatches_(max_dispatches) {}

  // Adds the kernels that are considered for each call to `trials`, and the calls to `trace`. Both
  // may be null.
  void TraceTo(std::vector<CallTrials>* trials, LoweringTrace* trace) {
    trials_ = trials;
    trace_ = trace;
  }

  Plan& plan() { return plan_; }
  MissingList& missing() { return missing_; }
  PlanTensor& tensor(uint32_t index) { return plan_.tensors[index]; }

  // Sets the current node, or, if null, the current output, for messages.
  void SetNode(const Node* node, size_t index) {
    node_ = node;
    node_index_ = index;
  }
  // Describes the current node or output, for messages.
  std::string node() const;

  // Adds a tensor without a producer. Fails with kUnsupported if it is too large.
  Result<uint32_t> AddTensor(const std::string& name, const ops::TensorDesc& desc);

  // Infers the shapes and dtypes of the outputs. Fails with kInvalidFile if the arguments are
  // invalid.
  static Result<std::vector<ops::TensorDesc>> Infer(OpCall& call);

  // Returns a call of `op` for Lower(). `args` must have passed CheckArgs().
  OpCall Call(const ops::OpEntry& op, std::vector<Arg> args, std::vector<uint32_t> outputs) {
    return {op, std::move(args), std::move(outputs), plan_.tensors, device_.properties};
  }

  // Returns true if a kernel computes the call in `storage` on this device.
  Result<bool> CanCompute(OpCall& call, Storage storage);

  // Adds the node that computes the call, in the first storage of `choices` that a kernel supports.
  // Consumes `call`. If no library has a kernel, the outputs are treated as buffers.
  Status Lower(OpCall& call, const std::vector<StorageChoice>& choices, const std::string& name);

  // Adds a node that copies a buffer to another of equal size. No node is added for empty buffers.
  void AddCopy(uint32_t source, uint32_t target);

  // Returns the tensor in `storage`: itself, or a copy. Each copy is created once.
  Result<uint32_t> InStorage(uint32_t tensor, Storage storage);
  bool HasCopyIn(uint32_t tensor, Storage storage) const {
    return converted_.contains({tensor, storage});
  }

 private:
  struct NodeChoice {
    KernelSearch search;
    Storage storage = Storage::kBuffer;
  };

  Result<NodeChoice> ChooseStorage(OpCall& call, const std::vector<StorageChoice>& choices);
  Status ReportFailure(const OpCall& call, const KernelSearch& search);
  Status AddNode(OpCall& call, const NodeChoice& chosen, const std::string& name);
  // Adds a call to the trace before its operands are bound, and completes it afterwards.
  Result<uint32_t> BeginTrace(OpCall& call, const ops::KernelInfo& kernel);
  void FinishTrace(uint32_t index, PlanNode& node);
  // Copies the arguments that the call updates to its outputs, which the kernel then modifies.
  Status AddInPlaceCopies(const OpCall& call);
  Status AddInPlaceCopy(const OpCall& call, uint32_t original, uint32_t updated);
  // Sets node.operands, and replaces the tensors of the call by the bound ones.
  Status BindOperands(PlanNode& node, OpCall& call);
  void BindOutput(PlanNode& node, const ops::OperandInfo& operand, uint32_t output);
  // Binds `tensor`. If another storage is required, binds a copy and sets `tensor` to it.
  Status BindInput(PlanNode& node, const ops::OperandInfo& operand, OpCall& call, uint32_t& tensor);
  bool AllConstant(const std::vector<Arg>& args) const;
  Status CheckBufferSizes(const PlanNode& node) const;
  // Evaluates push constants, grids and specialization constants of the dispatches.
  Status AddDispatches(PlanNode& node, ops::CallFormulas& formulas);

  // Returns the packed tensor of `operand`. Equal calls of a packing op are added once.
  Result<uint32_t> Pack(const ops::OperandInfo& operand, OpCall& call, Storage storage,
                        const std::string& name);
  Result<uint32_t> AddPacked(const ops::OpEntry& op, std::vector<Arg> args, Storage storage,
                             const std::string& name);

  const ops::OpIndex& index_;
  const DeviceTraits& device_;
  const std::vector<std::string>& kernels_;
  const session::TunedKernels* tuned_;  // may be null
  const uint64_t max_dispatches_;
  std::vector<CallTrials>* trials_ = nullptr;
  LoweringTrace* trace_ = nullptr;
  Plan plan_;
  MissingList missing_;
  const Node* node_ = nullptr;
  size_t node_index_ = 0;
  uint64_t dispatches_ = 0;  // number of dispatches so far
  int depth_ = 0;            // current nesting of Lower()
  std::map<std::pair<uint32_t, Storage>, uint32_t> converted_;
  std::map<std::string, uint32_t> packed_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_LOWERING_H_
