// The lowered graph: every node with the kernel that computes it, every tensor with its storage.
// Built by Lower() (lowering.h); what follows only reads it.
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

// A tensor in one storage. A graph's tensor that is needed in two storages is two of these.
struct PlanTensor {
  std::string name;
  ops::TensorDesc desc;  // with the storage
  uint64_t size = 0;     // bytes when dense
  // Its value is known at load: a constant of the file, or computed from such alone.
  bool is_constant = false;
  int32_t constant = -1;          // index into Graph::constants; of a state: its initial value
  int32_t input = -1;             // index into Graph::inputs
  int32_t output = -1;            // index into Graph::outputs, whose memory it lives in
  int32_t state = -1;             // index into Graph::states, whose memory it is
  uint32_t alias_of = kNoTensor;  // the tensor, itself no alias, whose memory this one shares
  uint64_t alias_offset = 0;      // from which byte of it on

  Storage storage() const { return desc.storage; }
  // Whether it is computed in each run, and of no use after it.
  bool is_temporary() const { return !is_constant && input < 0 && output < 0 && state < 0; }
  // What a buffer for it takes: kernels may read and write whole vectors of four.
  uint64_t buffer_size() const { return AlignUp(size, 16); }
};

// What formulas say of one dispatch of a call.
struct DispatchValues {
  std::array<int64_t, 3> invocations{};
  std::vector<std::byte> push;
  // The element of the output where it puts its part, see ops::KernelInfo::joined_at; -1: nowhere.
  int64_t joined_at = -1;

  // Whether there is nothing to do.
  bool is_empty() const {
    return invocations[0] == 0 || invocations[1] == 0 || invocations[2] == 0;
  }
};

// A call of an op with the kernel chosen for it, or, with `op` null, a copy of the bytes of
// operands[0][0] to operands[1][0], both buffers; nothing is copied that lives there.
struct PlanNode {
  std::string name;  // the source model's, or of the node it was inserted for
  const ops::OpEntry* op = nullptr;
  const ops::KernelInfo* kernel = nullptr;
  ops::Variant variant{};
  Storage storage = Storage::kBuffer;
  std::vector<Arg> args;          // what formulas saw; tensors are indices into Plan::tensors
  std::vector<uint32_t> outputs;  // likewise
  // What is bound: for each operand of the kernel one tensor, several for a list, kNoTensor for an
  // absent one.
  std::vector<std::vector<uint32_t>> operands;
  std::vector<uint32_t> constants;  // for specialisation
  std::vector<DispatchValues> dispatches;
  // Which of its dispatches have nothing to do, as what they would copy is there; empty: none.
  std::vector<bool> in_place;
  bool is_constant = false;  // run once, at load
};

struct Plan {
  std::deque<PlanTensor> tensors;  // a deque, so that formulas may refer to elements while it grows
  std::vector<PlanNode> nodes;     // in order of execution
  std::vector<uint32_t> inputs;    // the tensor that holds graph input i, in a buffer
  std::vector<uint32_t> outputs;   // the tensor that becomes graph output i, in a buffer
  std::vector<uint32_t> states;    // the tensor that holds state i, in a buffer
  size_t layout_copies = 0;        // nodes that change storage in every run
  size_t aliased_views = 0;        // nodes of the graph that became aliases
  size_t fallbacks = 0;            // nodes whose outputs are in another storage than asked for
  std::string first_fallback;      // the first of them, in words

  // The tensor whose memory `tensor` lives in.
  uint32_t Root(uint32_t tensor) const {
    const uint32_t root = tensors[tensor].alias_of;
    assert(root == kNoTensor || tensors[root].alias_of == kNoTensor);
    return root == kNoTensor ? tensor : root;
  }
  // Whether both begin at the same byte.
  bool AreInOnePlace(uint32_t a, uint32_t b) const {
    return Root(a) == Root(b) && tensors[a].alias_offset == tensors[b].alias_offset;
  }
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_PLAN_H_
