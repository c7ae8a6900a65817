// A graph as plain data: the validated contents of a .slg file, independent of the device.
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
#include "runtime/graph/file/number_expr.h"
#include "runtime/graph/file/size_expr.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::graph {

// The kind of an argument's value. The values are part of the file format.
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

// The value of an argument; `kind` selects the valid member.
struct Arg {
  ArgKind kind = ArgKind::kNone;
  std::vector<uint32_t> tensors;  // kTensor (one), kTensorList
  std::vector<int64_t> ints;      // kInt and kBool (one), kInts
  double f = 0;
  std::string s;
  std::vector<uint32_t> sizes;   // for each of `ints`: kFixedSize or an index, as in Tensor
  uint32_t number = kFixedSize;  // of `f`: kFixedSize or an index into Graph::numbers

  friend bool operator==(const Arg&, const Arg&) = default;
};

// At most INT32_MAX elements; `size` is in bytes.
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  Storage storage = Storage::kAuto;  // as declared in the graph
  int32_t constant = -1;             // index into Graph::constants
  int32_t initial = -1;     // initial value of a state, index into Graph::constants; -1: zeros
  int64_t min = INT64_MIN;  // bounds of the values of an input
  int64_t max = INT64_MAX;
  uint64_t size = 0;
  // For each dimension: kFixedSize, kInferredSize (not for inputs), or an index into Graph::sizes.
  // Empty: all dimensions are fixed.
  std::vector<uint32_t> sizes;
  bool inferred = false;  // the shape is inferred from the node
};

struct Node {
  std::string op;
  std::vector<Arg> args;
  std::vector<uint32_t> outputs;
  std::string name;
};

// Immutable once loaded. Shapes, ints and floats are the values for the maximum of each symbol.
// Every index is in range; nodes are topologically sorted; each used tensor is an input, a
// constant, a state or the output of exactly one node.
struct Graph {
  std::vector<Tensor> tensors;
  std::vector<std::span<const std::byte>>
      constants;           // views into the file, which must outlive this
  bool is_mapped = false;  // the graph file and the constants file are mapped
  std::vector<Node> nodes;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::vector<uint32_t> states;   // tensors that keep their value between runs
  std::vector<uint32_t> updates;  // new value of each state at the end of a run
  std::string constants_file;     // file name; empty: constants are in the graph file
  std::string producer;
  uint64_t file_bytes = 0;           // size of the graph file and its constants
  std::string name;                  // name of the method
  std::vector<std::string> methods;  // all methods of the file
  std::shared_ptr<const std::vector<Attachment>> attachments =  // never null
      std::make_shared<const std::vector<Attachment>>();
  std::vector<Symbol> symbols;
  std::vector<SizeExpr> sizes;  // valid at the maximum of each symbol
  std::vector<NumberExpr> numbers;
  std::vector<IntInput> int_inputs;  // in the order of the model's arguments
};

using spirloom::Quote;

// Returns e.g. "tensor 3 ('conv1.weight')", "node 7 ('/features/conv', aten.convolution)".
std::string DescribeTensor(const Tensor& tensor, size_t index);
std::string DescribeTensor(const Graph& graph, size_t index);
std::string DescribeNode(const Node& node, size_t index);

// kNotFound, for a file of the methods `known` without `requested`.
Status UnknownMethod(std::string_view requested, std::span<const std::string> known);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_H_
