// A call that is evaluated for other sizes than those of its plan.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_SCRATCH_CALL_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_SCRATCH_CALL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "runtime/graph/plan/lowering_trace.h"
#include "runtime/graph/plan/op_call.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/plan/plan_specializer.h"
#include "runtime/ops/eval.h"

namespace spirloom::graph {

// Sets the values, but not the tensors, of `args` to those of `from`.
void SetValues(std::vector<Arg>& args, const std::vector<Arg>& from);

// Sets the sizes and the number of `arg` that `values` has.
void SetSizes(Arg& arg, const PlanValues& values);

// A call with tensors of its own, which have the shapes of an evaluation.
class ScratchCall {
 public:
  ScratchCall(const Plan& plan, const PlanValues& values, const TracedCall& call,
              const ops::DeviceProperties& device);

  OpCall& call() { return call_; }
  const std::deque<PlanTensor>& tensors() const { return tensors_; }
  ops::TensorDesc& output(size_t i) { return tensors_[outputs_[i]].desc; }
  void BindOperands() { call_.Rebind(std::move(bound_)); }

 private:
  uint32_t IndexOf(uint32_t tensor);
  std::vector<uint32_t> IndicesOf(std::vector<uint32_t> tensors);
  std::vector<Arg> ArgsOf(std::vector<Arg> args);

  const Plan& plan_;
  const PlanValues& values_;
  std::deque<PlanTensor> tensors_;
  std::vector<uint32_t> sources_;  // by index in tensors_: the tensor of the plan
  std::vector<uint32_t> outputs_;
  std::vector<Arg> bound_;
  OpCall call_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_SCRATCH_CALL_H_
