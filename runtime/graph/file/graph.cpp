#include "runtime/graph/file/graph.h"

#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace spirloom::graph {

const char* Name(ArgKind kind) {
  switch (kind) {
    case ArgKind::kNone:
      return "none";
    case ArgKind::kTensor:
      return "tensor";
    case ArgKind::kTensorList:
      return "tensor list";
    case ArgKind::kInt:
      return "int";
    case ArgKind::kFloat:
      return "float";
    case ArgKind::kBool:
      return "bool";
    case ArgKind::kInts:
      return "int list";
    case ArgKind::kString:
      return "string";
  }
  return "unknown";
}

std::string DescribeTensor(const Tensor& tensor, size_t index) {
  const std::string text = Concat("tensor ", index);
  return tensor.name.empty() ? text : Format("{} ({})", text, Quoted{tensor.name});
}

std::string DescribeTensor(const Graph& graph, size_t index) {
  return DescribeTensor(index < graph.tensors.size() ? graph.tensors[index] : Tensor(), index);
}

std::string DescribeNode(const Node& node, size_t index) {
  std::string op = Quote(node.op);
  op = op.substr(1, op.size() - 2);
  return Format("node {} ({}{})", index, (node.name.empty() ? "" : Concat(Quoted{node.name}, ", ")),
                op);
}

Status UnknownMethod(std::string_view requested, std::span<const std::string> known) {
  if (known.size() == 1 && known[0].empty()) {
    return Error(StatusCode::kNotFound, "The file has no method {}, only one without a name.",
                 Quoted{requested});
  }
  std::vector<std::string> quoted;
  for (const std::string& method : known) quoted.push_back(Quote(method));
  return Error(StatusCode::kNotFound, "The file has no method {}. Methods: {}.", Quoted{requested},
               Join(quoted, ", "));
}

}  // namespace spirloom::graph
