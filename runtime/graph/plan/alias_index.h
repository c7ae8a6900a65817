// Aliases tensors of a plan, and finds the aliases of a root without visiting all tensors.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_ALIAS_INDEX_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_ALIAS_INDEX_H_

#include <cstdint>
#include <vector>

#include "runtime/graph/plan/plan.h"

namespace spirloom::graph {

// References the plan. All later changes of its aliases must be made by AliasTo().
class AliasIndex {
 public:
  explicit AliasIndex(Plan& plan);

  // Aliases `part`, a temporary root, and its own aliases to `root` at `offset` bytes.
  void AliasTo(uint32_t part, uint32_t root, uint64_t offset);

 private:
  Plan& plan_;
  std::vector<std::vector<uint32_t>> aliases_;  // by root
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_ALIAS_INDEX_H_
