// The dependencies between the dispatches of a run, by the tensors that their kernels declare.
#ifndef SPIRLOOM_TOOLS_RACES_DISPATCH_ORDER_H_
#define SPIRLOOM_TOOLS_RACES_DISPATCH_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/model/compiled_graph.h"

namespace spirloom::tools {

// Bytes [begin, end) of a tensor that owns its memory.
struct TensorRange {
  uint32_t tensor;  // index into Plan::tensors
  uint64_t begin;
  uint64_t end;

  bool Overlaps(const TensorRange& other) const {
    return tensor == other.tensor && begin < other.end && other.begin < end;
  }
};

struct DispatchAccess {
  std::vector<TensorRange> reads;
  std::vector<TensorRange> writes;
};

// The accesses of each dispatch of a run.
std::vector<DispatchAccess> AccessesOf(const internal::CompiledGraph& graph);

// Returns a random order of the dispatches, as indices, in which each follows the earlier ones of
// the plan that write its operands or results, or read its results. Memory that tensors share is
// not considered. The same seed returns the same order.
std::vector<uint32_t> PermutedOrder(std::span<const DispatchAccess> accesses, uint32_t seed);

// Digests of the bytes that each dispatch wrote, by dispatch in the order of the plan.
using Digests = std::vector<uint64_t>;

// Returns the dispatch that caused the difference of two runs in the range `result`: it wrote other
// bytes although all dispatches whose results it read wrote the same bytes. Nothing if all
// dispatches that wrote `result` wrote the same bytes.
std::optional<uint32_t> FindCause(std::span<const DispatchAccess> accesses, const Digests& a,
                                  const Digests& b, const TensorRange& result);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_RACES_DISPATCH_ORDER_H_
