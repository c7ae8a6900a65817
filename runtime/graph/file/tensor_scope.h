// The set of tensors that a node may read.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SCOPE_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SCOPE_H_

#include <cstdint>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Tracks the defined tensors while nodes are read. The tensors of `graph` must have been read;
// `graph` must outlive this.
class TensorScope {
 public:
  // Initially, constants are defined.
  explicit TensorScope(const Graph& graph);

  // Fails with kInvalidFile if the index is out of range.
  Status CheckIndex(uint32_t tensor) const;
  bool IsDefined(uint32_t tensor) const { return defined_[tensor]; }
  void Define(uint32_t tensor) { defined_[tensor] = true; }

 private:
  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SCOPE_H_
