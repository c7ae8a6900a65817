// A call of an operator, as the formulas of the registry see it.
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

// Appends absent optional arguments that were added to the operator after the file was written.
std::vector<Arg> CompleteArgs(const ops::OpInfo& op, std::vector<Arg> args);

// Checks the kinds of `args` against the schema of the operator. Fails with kInvalidFile and the
// name of the argument and both kinds.
Status CheckArgs(const ops::OpInfo& op, std::span<const Arg> args);

// A call of an operator during lowering: its arguments and formulas. One object is used from shape
// inference to push constants, so that each `let` is evaluated once. Holds references to `op` and
// `tensors`, which may grow.
class OpCall {
 public:
  // `args` must have passed CheckArgs(). `outputs` can be set later.
  OpCall(const ops::OpEntry& op, std::vector<Arg> args, std::vector<uint32_t> outputs,
         const std::deque<PlanTensor>& tensors, const ops::DeviceProperties& device);
  OpCall(const OpCall&) = delete;
  OpCall& operator=(const OpCall&) = delete;

  const ops::OpEntry& entry() const { return entry_; }
  const ops::OpInfo& op() const { return *entry_.op; }
  const std::vector<Arg>& args() const { return args_; }
  const std::vector<uint32_t>& outputs() const { return outputs_; }
  const ops::Call& call() const { return call_; }
  ops::CallFormulas& formulas() { return formulas_; }

  void SetOutputs(std::vector<uint32_t> outputs);
  // Replaces tensors by others of the same shape and dtype in their bound storage.
  void Rebind(std::vector<Arg> args);
  // Moves the arguments out; the call must not be used afterwards.
  std::vector<Arg> TakeArgs() { return std::move(args_); }

  // Converts the value of a formula to an argument of type `type`. Fails with kInternal for a
  // tensor that is not an argument of this call.
  Result<Arg> ToArg(const ops::Value& value, ops::ArgType type) const;

 private:
  void SetTensors(const Arg& arg, ops::ArgType type, size_t i);
  Result<uint32_t> Find(const ops::TensorDesc* tensor) const;

  const ops::OpEntry& entry_;
  const std::deque<PlanTensor>& tensors_;
  std::vector<Arg> args_;
  std::vector<uint32_t> outputs_;
  std::vector<ops::Value> values_;
  std::vector<std::vector<const ops::TensorDesc*>> lists_;  // tensors of each argument
  std::vector<const ops::TensorDesc*> output_descs_;
  ops::Call call_;
  ops::CallFormulas formulas_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_OP_CALL_H_
