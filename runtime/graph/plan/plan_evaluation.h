// Evaluates the formulas of a plan for other sizes; used by PlanSpecializer.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_EVALUATION_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_EVALUATION_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/key_table.h"
#include "runtime/graph/plan/lowering_trace.h"
#include "runtime/graph/plan/plan_specializer.h"
#include "runtime/graph/plan/scratch_call.h"
#include "runtime/ops/eval.h"
#include "runtime/session/tuning_store.h"

namespace spirloom::graph {

// Evaluates the calls in order, then compares. Functions return false if the plan cannot be
// specialized.
class PlanSpecializer::Evaluation {
 public:
  Evaluation(const PlanSpecializer& specializer, const Graph& graph,
             const session::TunedKernels* tuned)
      : from_(specializer), graph_(graph), tuned_(tuned) {}

  bool Run(std::span<const int64_t> symbols);

  PlanValues TakeValues() { return std::move(values_); }

 private:
  bool SetTensor(const ops::TensorDesc& desc, TensorValues& tensor);
  bool SetInputs();
  bool SetCall(uint32_t index);
  bool IsConstantUnchanged(const TracedCall& call) const;
  std::span<const int64_t> KeyOf(const TracedCall& call, const CallInputs& inputs);
  // As LowerView().
  bool SetView(const TracedCall& call, const CallValues& found);
  bool EvaluateCall(const TracedCall& call, CallValues& result);
  bool EvaluateNode(const TracedCall& call, ScratchCall& scratch, CallValues& result);
  // Packed tensors may be computed from other values, but not from other tensors.
  bool SetPacks(const TracedCall& call, std::vector<TracedPack> packs, CallValues& result);

  // Empty tensors have no buffer, and constants are computed once.
  bool CompareTensors() const;
  bool ComparePairs() const;
  // Equal packing calls share their result, and others do not.
  bool ComparePacks() const;
  // Runs the passes that alias buffers, whose conditions compare sizes and offsets.
  bool AliasBuffers();
  // A copy to the same address is skipped.
  bool CompareCopies() const;

  const PlanSpecializer& from_;
  const Graph& graph_;
  const session::TunedKernels* tuned_;  // may be null
  PlanValues values_;
  bool packs_changed_ = false;
  KeyTable evaluated_;        // the index of a key is that of its values in values_.evaluated
  std::vector<int64_t> key_;  // of the current call
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_EVALUATION_H_
