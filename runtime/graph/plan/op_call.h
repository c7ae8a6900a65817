// Presents a call to the registry's formulas.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_OP_CALL_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_OP_CALL_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/plan/plan.h"
#include "runtime/ops/call_formulas.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/op_index.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// `args` of a file, which may be older than the op's last optional tensors: those are absent.
std::vector<Arg> CompleteArgs(const ops::OpInfo& op, std::vector<Arg> args);

// Checks that `args` has the kinds that the op's schema asks for. Fails with kInvalidFile naming
// the argument and both kinds.
Status CheckArgs(const ops::OpInfo& op, std::span<const Arg> args);

// A call of an op while it becomes a node: its arguments, and what formulas say of it. There is one
// for each call, from inference to the last push constant, so that each let is evaluated once.
// Refers to `op` and `tensors`, which may grow.
class OpCall {
 public:
  // `args` have passed CheckArgs. `outputs` may come later.
  OpCall(const ops::OpEntry& op, std::vector<Arg> args, std::vector<uint32_t> outputs,
         const std::deque<PlanTensor>& tensors, const ops::DeviceFacts& device);
  OpCall(const OpCall&) = delete;
  OpCall& operator=(const OpCall&) = delete;

  const ops::OpEntry& entry() const { return entry_; }
  const ops::OpInfo& op() const { return *entry_.op; }
  const std::vector<Arg>& args() const { return args_; }
  const std::vector<uint32_t>& outputs() const { return outputs_; }
  const ops::Call& call() const { return call_; }
  ops::CallFormulas& formulas() { return formulas_; }

  void SetOutputs(std::vector<uint32_t> outputs);
  // Puts in the place of tensors others of the same shape and dtype, in the storages where they
  // are bound.
  void Rebind(std::vector<Arg> args);
  // What a node keeps; the call is not used any more.
  std::vector<Arg> TakeArgs() { return std::move(args_); }

  // Turns a value that a formula made from this call into an argument of type `type`. Fails with
  // kInternal for a tensor that is not of this call.
  Result<Arg> ToArg(const ops::Value& value, ops::ArgType type) const;

 private:
  void SetTensors(const Arg& arg, ops::ArgType type, size_t i);
  Result<uint32_t> Find(const ops::TensorDesc* tensor) const;

  const ops::OpEntry& entry_;
  const std::deque<PlanTensor>& tensors_;
  std::vector<Arg> args_;
  std::vector<uint32_t> outputs_;
  std::vector<ops::Value> values_;
  std::vector<std::vector<const ops::TensorDesc*>> lists_;  // of the argument at that place
  std::vector<const ops::TensorDesc*> output_descs_;
  ops::Call call_;
  ops::CallFormulas formulas_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_OP_CALL_H_
