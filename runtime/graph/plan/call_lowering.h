// Turns calls of ops into nodes of a plan.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_LOWERING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_LOWERING_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/plan/call_frame.h"
#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/kernel_choice.h"
#include "runtime/graph/plan/missing.h"
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
  // `kernels` and `tuned`, by CallText(), are ChooseKernel()'s wishes.
  CallLowering(const ops::OpIndex& index, const DeviceTraits& device,
               const std::vector<std::string>& kernels, const session::TunedKernels& tuned)
      : index_(index), device_(device), kernels_(kernels), tuned_(tuned) {}

  Plan& plan() { return plan_; }
  MissingList& missing() { return missing_; }
  PlanTensor& tensor(uint32_t index) { return plan_.tensors[index]; }

  // The node of the graph that is lowered from now on, in words.
  void SetNode(std::string text) { node_text_ = std::move(text); }
  const std::string& node() const { return node_text_; }

  // Adds a tensor without a producer yet. Fails with kUnsupported for one that is too large.
  Result<uint32_t> AddTensor(const std::string& name, const ops::TensorDesc& desc);

  // The shapes and dtypes of the call's outputs. Fails with kInvalidFile when the arguments do not
  // fit.
  Result<std::vector<ops::TensorDesc>> Infer(const ops::OpInfo& op, const std::vector<Arg>& args);

  // Whether a kernel computes the call in `storage` on this device.
  Result<bool> CanCompute(const ops::OpEntry& op, const std::vector<Arg>& args, uint32_t output,
                          Storage storage);

  // Adds the node that computes `outputs`, in the first storage of `choices` that a kernel offers.
  // When the libraries lack it, the outputs count as buffers.
  Status Lower(const ops::OpEntry& op, std::vector<Arg> args, std::vector<uint32_t> outputs,
               const std::vector<StorageChoice>& choices, const std::string& name);

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
  Result<NodeChoice> ChooseStorage(const CallFrame& frame, const ops::OpEntry& op,
                                   const std::vector<Arg>& args,
                                   const std::vector<uint32_t>& outputs,
                                   const std::vector<StorageChoice>& choices);
  Status NoteFailure(const ops::OpInfo& op, const KernelSearch& search,
                     const std::vector<uint32_t>& outputs);
  // Fills node.operands, and puts into `args` the tensors as they are bound.
  Status BindOperands(PlanNode& node, const CallFrame& frame, std::vector<Arg>& args,
                      const std::vector<uint32_t>& outputs);
  void BindOutput(PlanNode& node, const ops::OperandInfo& operand, uint32_t output);
  // Binds `tensor`, or, where it must be in another storage, the copy it then becomes.
  Status BindInput(PlanNode& node, const ops::OperandInfo& operand, const CallFrame& frame,
                   uint32_t& tensor);
  bool AllConstant(const std::vector<Arg>& args) const;
  Status CheckBufferSizes(const PlanNode& node) const;

  // The tensor in the form that `operand` reads, made once for equal calls of the packing op.
  Result<uint32_t> Pack(const ops::OperandInfo& operand, const CallFrame& frame, Storage storage,
                        const std::string& name);
  Result<uint32_t> AddPacked(const ops::OpEntry& op, std::vector<Arg> args, Storage storage,
                             const std::string& name);

  const ops::OpIndex& index_;
  const DeviceTraits& device_;
  const std::vector<std::string>& kernels_;
  const session::TunedKernels& tuned_;
  Plan plan_;
  MissingList missing_;
  std::string node_text_;
  std::map<std::pair<uint32_t, Storage>, uint32_t> converted_;
  std::map<std::string, uint32_t> packed_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_LOWERING_H_
