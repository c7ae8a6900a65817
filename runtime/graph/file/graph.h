// A graph as plain data: what a .slg file says, checked, before any device is involved.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/text.h"
#include "runtime/graph/file/size_expr.h"
#include "spirloom/types.h"

namespace spirloom::graph {

// The kind of an argument's value. The numbers are part of the file format.
enum class ArgKind : uint8_t {
  kNone = 0,
  kTensor = 1,
  kTensorList = 2,
  kInt = 3,
  kFloat = 4,
  kBool = 5,
  kInts = 6,
  kString = 7,
};

// Returns e.g. "tensor list".
const char* Name(ArgKind kind);

// The value of one argument; `kind` says which member holds it.
struct Arg {
  ArgKind kind = ArgKind::kNone;
  std::vector<uint32_t> tensors;  // kTensor (one), kTensorList
  std::vector<int64_t> ints;      // kInt and kBool (one), kInts
  double f = 0;
  std::string s;
  std::vector<uint32_t> sizes;  // of each of `ints`: kFixedSize or an index, as in Tensor

  friend bool operator==(const Arg&, const Arg&) = default;
};

// At most INT32_MAX elements; `size` is in bytes.
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  Storage storage = Storage::kAuto;  // what the graph asks for
  int32_t constant = -1;             // index into Graph::constants
  int32_t initial = -1;              // of a state, likewise; -1: zeros
  int64_t least = INT64_MIN;         // of an input: its numbers lie between these
  int64_t greatest = INT64_MAX;
  uint64_t size = 0;
  // Of each dimension: kFixedSize, kInferredSize (not of inputs), or the index in Graph::sizes of
  // what it is. Empty: all fixed.
  std::vector<uint32_t> sizes;
  bool inferred = false;  // the shape is whatever its node computes
};

struct Node {
  std::string op;
  std::vector<Arg> args;
  std::vector<uint32_t> outputs;
  std::string name;
};

// Immutable once loaded. With symbols, shapes and ints are those for their greatest values. Every
// index is in range; nodes are topologically sorted; each tensor that is used is an input, a
// constant, a state or the output of exactly one node.
struct Graph {
  std::vector<Tensor> tensors;
  std::vector<std::span<const std::byte>> constants;  // refer to the file, which must outlive this
  bool is_mapped = false;                             // the file, and that of the constants
  std::vector<Node> nodes;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::vector<uint32_t> states;   // outlive runs: one begins with what is there
  std::vector<uint32_t> updates;  // what each of them becomes in a run
  std::string constants_file;     // a bare file name; empty: the constants are in the graph file
  std::string producer;
  uint64_t file_bytes = 0;           // of the file and its constants
  std::string name;                  // of the method
  std::vector<std::string> methods;  // of the file, this one included
  std::vector<uint8_t> digest;       // of the constants; empty if the file does not tell it
  std::shared_ptr<const std::vector<Attachment>> attachments =  // of the file; never null
      std::make_shared<const std::vector<Attachment>>();
  std::vector<Symbol> symbols;
  std::vector<SizeExpr> sizes;  // have values at the greatest sizes
};

using spirloom::Quote;

// Returns e.g. "tensor 3 ('conv1.weight')", "node 7 ('/features/conv', aten.convolution)".
std::string DescribeTensor(const Tensor& tensor, size_t index);
std::string DescribeTensor(const Graph& graph, size_t index);
std::string DescribeNode(const Node& node, size_t index);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_H_
