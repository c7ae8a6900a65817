#include "runtime/graph/file/tensor_scope.h"

#include "runtime/base/error.h"

namespace spirloom::graph {

TensorScope::TensorScope(const Graph& graph) : graph_(graph) {
  for (const Tensor& tensor : graph.tensors) defined_.push_back(tensor.constant >= 0);
}

Status TensorScope::CheckIndex(uint32_t tensor) const {
  if (tensor < graph_.tensors.size()) return Status();
  return InvalidFile("Tensor index ({}) is out of range of {} tensors.", tensor,
                     graph_.tensors.size());
}

}  // namespace spirloom::graph
