// The calls and comparisons of sizes that led to a plan.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_TRACE_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_TRACE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/ops/op_index.h"

namespace spirloom::graph {

// A packed operand of a call.
struct TracedPack {
  size_t operand = 0;
  // The arguments of the packing op. Tensors are indices of the tensors of the packed call, in the
  // order of its arguments.
  std::vector<Arg> args;
  uint32_t packed = kNoTensor;  // the tensor that is bound
};

// A call of an operator that was lowered. Tensors are indices into Plan::tensors.
struct TracedCall {
  const ops::OpEntry* op = nullptr;
  std::vector<Arg> args;  // before the operands are bound
  std::vector<uint32_t> outputs;
  std::vector<TracedPack> packs;
  std::optional<PlanNode> node;  // as lowered; absent: the output is an alias of a view
  // The call that this one packs an operand of, which precedes it, and the index into its `packs`.
  // Calls that require the same packed tensor share it: this is the first. kNoCall: it packs none.
  uint32_t packed_for = kNoCall;
  size_t pack = 0;
};

// Filled by Compile() for PlanSpecializer.
struct LoweringTrace {
  using TensorPair = std::pair<uint32_t, uint32_t>;

  // False if the plan depends on sizes in other ways: textures, a storage that was not the first
  // candidate.
  bool is_complete = true;
  std::vector<TracedCall> calls;   // arguments precede their users
  std::vector<TensorPair> copies;  // the second tensor has the shape of the first; after `calls`
  std::vector<TensorPair> equal_shapes;   // pairs that must have the same shape
  std::vector<TensorPair> equal_sizes;    // pairs with the same size in bytes
  std::vector<TensorPair> unequal_sizes;  // pairs with different sizes
  // The plan before buffers are aliased, if the aliasing passes found anything to do.
  std::optional<Plan> before_aliasing;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_LOWERING_TRACE_H_
