// The first passes of Compile(): from the graph of a file to a plan.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/call_lowering.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/op_call.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/ops/op_index.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Lowers a graph to a plan: Infer(), then SelectKernels(). All arguments must outlive it.
class Lowering {
 public:
  Lowering(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
           const CompileOptions& options);

  // Adds the tensors of the graph to the plan, all in buffers; resolves the operators, checks their
  // arguments, and infers the shapes of their outputs. Collects missing operators, which
  // SelectKernels() reports. Fails with kInvalidFile and the node.
  Status Infer();
  // Adds the nodes in order. The storage of a call depends on those of its arguments and on the
  // kernels that exist, and the kernel on the storage, so both are selected per call, with the
  // layout copies and packing nodes that the kernel requires. Then adds outputs and state updates.
  Status SelectKernels();

  Plan& plan() { return calls_.plan(); }

 private:
  Status CheckAddressable(const char* kind, uint32_t tensor);
  uint32_t AddDeclared(uint32_t graph_tensor);
  void AddSources();
  Storage DeclaredStorage(const Node& node) const;
  Storage RequestedStorage(const Node& node, const ops::OpInfo& op) const;
  Status InferNode(size_t i);
  Status LowerNode(const Node& node, OpCall& call);
  void CountFallback(Storage chosen, Storage requested);
  std::vector<Arg> PlanArgs(std::vector<Arg> args) const;
  Storage SourceStorage(const std::vector<Arg>& args, Storage default_storage);
  Status SetShape(uint32_t tensor, const ops::Ints& shape);
  Status CheckOutputs(OpCall& call, const std::vector<uint32_t>& node_outputs);
  Status AddOutput(size_t i);
  Result<uint32_t> AddCopyOf(uint32_t tensor);
  Status AddUpdates();
  Result<uint32_t> UpdateOf(size_t i);

  const Graph& graph_;
  const ops::OpIndex& index_;
  const DeviceTraits& device_;
  const Storage storage_;
  LoweringTrace* const trace_;  // may be null
  CallLowering calls_;
  // Graph tensor -> plan tensor, in the storage of its producer.
  std::vector<uint32_t> plan_tensor_;
  std::vector<bool> is_result_;  // graph tensor -> whether it is an output or a new state value
  // The calls of the nodes, between the passes; null without an operator.
  std::vector<std::unique_ptr<OpCall>> inferred_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_H_
