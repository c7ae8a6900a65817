// The compiled graph: nodes with their kernels, tensors with their storages. Built by Compile()
// (compile.h); read-only afterwards.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_H_

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "runtime/base/align.h"
#include "runtime/graph/file/graph.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/op_index.h"

namespace spirloom::graph {

inline constexpr uint32_t kNoTensor = UINT32_MAX;
inline constexpr uint32_t kNoCall = UINT32_MAX;

// A tensor in one storage. A graph tensor used in two storages is two PlanTensors.
struct PlanTensor {
  // Defined in one place: they are large, and copied into every caller otherwise.
  PlanTensor();
  PlanTensor(const PlanTensor&);
  PlanTensor(PlanTensor&&) noexcept;
  PlanTensor& operator=(PlanTensor&&) noexcept;
  ~PlanTensor();

  std::string name;
  ops::TensorDesc desc;  // including the storage
  uint64_t size = 0;     // bytes when dense
  // Known at load time: a constant of the file, or computed only from constants.
  bool is_constant = false;
  int32_t constant = -1;          // index into Graph::constants; initial value of a state
  int32_t input = -1;             // index into Graph::inputs
  int32_t output = -1;            // index into Graph::outputs
  int32_t state = -1;             // index into Graph::states
  uint32_t alias_of = kNoTensor;  // root tensor whose memory this one shares
  uint64_t alias_offset = 0;      // offset in bytes in the root

  Storage storage() const { return desc.storage; }
  // True if it is computed in each run and not used afterwards.
  bool is_temporary() const { return !is_constant && input < 0 && output < 0 && state < 0; }
  // Size of its buffer in bytes: kernels may access complete vec4s.
  uint64_t buffer_size() const { return AlignUp(size, 16); }
};

// Values of one dispatch of a call, evaluated from formulas.
struct DispatchValues {
  std::array<int64_t, 3> invocations{};
  std::vector<std::byte> push;
  // Element offset of its part in the output, see ops::KernelInfo::concat_offset; -1: not
  // contiguous.
  int64_t concat_offset = -1;

  // True if the grid is empty.
  bool is_empty() const {
    return invocations[0] == 0 || invocations[1] == 0 || invocations[2] == 0;
  }
};

// A call of an operator with its kernel. If `op` is null, the node is a buffer copy from
// operands[0][0] to operands[1][0]; it is skipped if both have the same address.
struct PlanNode {
  // Defined in one place: they are large, and copied into every caller otherwise.
  PlanNode();
  PlanNode(const PlanNode&);
  PlanNode(PlanNode&&) noexcept;
  PlanNode& operator=(PlanNode&&) noexcept;
  ~PlanNode();

  std::string name;  // name in the source model, or of the node it was inserted for
  const ops::OpEntry* op = nullptr;
  const ops::KernelInfo* kernel = nullptr;
  ops::Variant variant{};
  Storage storage = Storage::kBuffer;
  std::vector<Arg> args;  // arguments of the formulas; tensors are indices into Plan::tensors
  std::vector<uint32_t> outputs;  // indices into Plan::tensors
  // Bound tensors of each operand of the kernel: one, several for a list, kNoTensor if absent.
  std::vector<std::vector<uint32_t>> operands;
  std::vector<uint32_t> constants;  // specialization constants
  // Maximum iterations of an invocation in all loops together; 0: few.
  int64_t loop_iterations = 0;
  std::vector<DispatchValues> dispatches;
  // in_place[i]: dispatch i is skipped, since its source aliases its destination. Empty: none.
  std::vector<bool> in_place;
  bool is_constant = false;  // computed once, at load time
  uint32_t call = kNoCall;   // index into LoweringTrace::calls; kNoCall: not traced, or a copy
};

struct Plan {
  // Defined in one place: they are large, and copied into every caller otherwise.
  Plan();
  Plan(const Plan&);
  Plan(Plan&&);  // may throw: moving a deque allocates
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  std::deque<PlanTensor> tensors;  // a deque: formulas hold references to elements while it grows
  std::vector<PlanNode> nodes;     // in order of execution
  std::vector<uint32_t> inputs;    // tensor of graph input i, in a buffer
  std::vector<uint32_t> outputs;   // tensor of graph output i, in a buffer
  std::vector<uint32_t> states;    // tensor of state i, in a buffer
  size_t layout_copies = 0;        // nodes that convert storage in every run
  size_t aliased_views = 0;        // nodes replaced by aliases
  size_t fallbacks = 0;            // nodes whose outputs are not in the requested storage
  std::string first_fallback;      // description of the first of them

  // Returns the tensor that owns the memory of `tensor`.
  uint32_t Root(uint32_t tensor) const {
    const uint32_t root = tensors[tensor].alias_of;
    assert(root == kNoTensor || tensors[root].alias_of == kNoTensor);
    return root == kNoTensor ? tensor : root;
  }
  // Returns true if both start at the same byte.
  bool HaveSameAddress(uint32_t a, uint32_t b) const {
    return Root(a) == Root(b) && tensors[a].alias_offset == tensors[b].alias_offset;
  }
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_H_
