// Presents a node's arguments to the registry's functions.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_FRAME_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_FRAME_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/plan/plan.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/registry.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Checks that `args` has the kinds that the op's schema asks for. Fails with kInvalidFile naming
// the argument and both kinds.
Status CheckArgs(const ops::OpInfo& op, std::span<const Arg> args);

// An ops::Call over `args`, which have passed CheckArgs, and `outputs`. Refers to all of its
// constructor's arguments.
class CallFrame {
 public:
  CallFrame(const ops::OpInfo& op, std::span<const Arg> args, std::span<const uint32_t> outputs,
            const std::deque<PlanTensor>& tensors);
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  const ops::OpInfo& op() const { return op_; }
  const ops::Call& call() const { return call_; }

  // Turns a value that a formula made from this call into an argument of type `type`. Fails with
  // kInternal for a tensor that is not of this call.
  Result<Arg> ToArg(const ops::Value& value, ops::ArgType type) const;

 private:
  ops::Value ToValue(const Arg& arg, ops::ArgType type);
  Result<uint32_t> Find(const ops::TensorDesc* tensor) const;

  const ops::OpInfo& op_;
  const std::deque<PlanTensor>& tensors_;
  std::span<const Arg> args_;
  std::vector<ops::Value> values_;
  std::deque<std::vector<const ops::TensorDesc*>> lists_;
  std::vector<const ops::TensorDesc*> outputs_;
  ops::Call call_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_FRAME_H_
