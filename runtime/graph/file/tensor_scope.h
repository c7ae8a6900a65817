// Which tensors a node of a graph file may read.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SCOPE_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SCOPE_H_

#include <cstdint>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// The tensors of a graph that have a value at a point of its list of nodes. `graph`, whose tensors
// are read already, must outlive it.
class TensorScope {
 public:
  // At first, constants are defined.
  explicit TensorScope(const Graph& graph);

  // Fails with kInvalidFile for an index without a tensor.
  Status CheckIndex(uint32_t tensor) const;
  bool IsDefined(uint32_t tensor) const { return defined_[tensor]; }
  void Define(uint32_t tensor) { defined_[tensor] = true; }

 private:
  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SCOPE_H_
