// Reads the nodes of a graph file.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_NODE_READER_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_NODE_READER_H_

#include <cstddef>

#include "runtime/graph/file/file_access.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/file/size_reader.h"
#include "runtime/graph/file/tensor_scope.h"

namespace spirloom::graph {

// Reads nodes in order. A node may read tensors that `scope` defines, and defines its outputs in
// it. Holds references to the constructor arguments.
class NodeReader {
 public:
  NodeReader(const Graph& graph, const SizeReader& sizes, TensorScope& scope, ReadBudget& budget)
      : graph_(graph), sizes_(sizes), scope_(scope), budget_(budget) {}

  // On failure, `node` contains the name and operator if they were read.
  Status Read(const schema::Node& source, Node& node);

 private:
  Status ReadArgTensors(const schema::Arg& source, Arg& arg);
  Status ReadArgInts(const schema::Arg& source, Arg& arg);
  Status ReadArg(const schema::Arg& source, Arg& arg);
  Status ReadArgs(const schema::Node& source, Node& node);
  Status ReadOutputs(const schema::Node& source, Node& node);

  const Graph& graph_;
  const SizeReader& sizes_;
  TensorScope& scope_;
  ReadBudget& budget_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_NODE_READER_H_
