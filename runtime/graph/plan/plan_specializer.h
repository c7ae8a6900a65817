// Specializes a compiled plan for other sizes: evaluates its formulas, and lowers nothing.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_SPECIALIZER_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_SPECIALIZER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/align.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/key_table.h"
#include "runtime/graph/plan/lowering_trace.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/ops/op_index.h"
#include "runtime/session/tuning_store.h"

namespace spirloom::graph {

// As the members of PlanTensor.
struct TensorValues {
  uint64_t size = 0;
  uint64_t alias_offset = 0;
  uint32_t shape = 0;  // index into PlanValues::shapes

  uint64_t buffer_size() const { return AlignUp(size, 16); }
};

// The values of the formulas of a call.
struct CallValues {
  std::vector<TensorValues> outputs;
  int64_t view_offset = 0;  // of a partial view, in elements
  int64_t loop_iterations = 0;
  std::vector<DispatchValues> dispatches;
  std::vector<uint32_t> constants;      // specialization constants
  std::vector<std::vector<Arg>> packs;  // arguments, as TracedPack
};

// The values of a plan that depend on sizes. Movable: no element changes its address.
struct PlanValues {
  PlanValues() = default;
  PlanValues(PlanValues&&) = default;
  PlanValues& operator=(PlanValues&&) = default;

  KeyTable shapes;
  std::vector<TensorValues> tensors;     // by tensor
  std::vector<const CallValues*> calls;  // by PlanNode::call; null: those of the plan
  std::vector<int64_t> sizes;            // of Graph::sizes
  std::vector<double> numbers;           // of Graph::numbers
  std::deque<CallValues> evaluated;      // distinct
};

// Evaluates equal calls once: a graph of many equal layers takes little longer than one layer. The
// choices of kernels, packing, aliases and copies are evaluated again as well. If one of them
// differs, the plan cannot be specialized. Thread-safe.
class PlanSpecializer {
 public:
  // `trace` is complete and of `plan`, which was compiled for `device` with the preferred
  // `kernels`. `plan` and `index` must outlive the specializer.
  PlanSpecializer(const Plan& plan, LoweringTrace trace, const ops::OpIndex& index,
                  const DeviceTraits& device, const std::vector<std::string>& kernels);

  // Returns the values for symbols[i] of symbol i of `graph`, of which the plan was compiled. Null
  // if Compile() with these tuned kernels (may be null) would return a plan with other nodes,
  // kernels, constant tensors or aliases, or would fail.
  std::optional<PlanValues> Evaluate(const Graph& graph, std::span<const int64_t> symbols,
                                     const session::TunedKernels* tuned) const;

  // Returns the complete plan with these values: equal to that of Compile().
  Plan Apply(const PlanValues& values) const;

 private:
  class Evaluation;

  // The inputs of a call that may differ from those of other calls of the same class.
  struct CallInputs {
    int64_t call_class = 0;
    std::vector<uint32_t> tensors;
    bool is_packed = false;  // the arguments are values of another call
  };

  void AddInputs(const TracedCall& call, KeyTable& classes);

  const Plan& plan_;
  const ops::OpIndex& index_;
  const DeviceTraits device_;
  const std::vector<std::string> kernels_;
  const LoweringTrace trace_;
  std::vector<CallInputs> inputs_;     // by call
  KeyTable shapes_;                    // of the plan
  std::vector<TensorValues> tensors_;  // of the plan, before buffers are aliased
  std::vector<bool> is_constant_;      // by tensor
  std::vector<bool> is_packed_;        // by tensor: the output of a call that packs an operand
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_SPECIALIZER_H_
