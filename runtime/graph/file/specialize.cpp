#include "runtime/graph/file/specialize.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/graph/file/tensor_size.h"

namespace spirloom::graph {
namespace {

using Values = std::vector<std::optional<int64_t>>;

Status Wrong(std::initializer_list<TextPiece> message) {
  return Error(StatusCode::kInvalidArgument, message);
}

// "Dimension 0 (9) of input 'x'".
std::string DescribeDim(const Tensor& input, size_t dim, int64_t size) {
  return Concat({"Dimension ", dim, " (", size, ") of input ", Quote(input.name)});
}

uint32_t SizeAt(const std::vector<uint32_t>& sizes, size_t i) {
  return i < sizes.size() ? sizes[i] : kFixedSize;
}

Status SetSymbol(const Symbol& symbol, const std::string& what, int64_t size, bool above_greatest,
                 std::optional<int64_t>& value) {
  if (size < symbol.least || (size > symbol.greatest && !above_greatest)) {
    const bool above = size > symbol.greatest;
    return Wrong({what, " is ", above ? "above the greatest" : "below the least", " size of ",
                  Quote(symbol.name), " (", above ? symbol.greatest : symbol.least,
                  "). Import the model with other bounds: --dim ", symbol.name,
                  "=LEAST..GREATEST."});
  }
  if (value && *value != size) {
    return Wrong({what, " is ", Quote(symbol.name), ", which is ", *value, " elsewhere."});
  }
  value = size;
  return Status();
}

// Takes the values of symbols that dimensions of the input are.
Status TakeSymbols(const Graph& graph, const Tensor& input, const Shape& shape, bool above_greatest,
                   Values& values) {
  if (shape.size() != input.shape.size()) {
    return Wrong({"Rank (", shape.size(), ") of input ", Quote(input.name),
                  " differs from the model's (", input.shape.size(), ")."});
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const uint32_t size = SizeAt(input.sizes, i);
    if (size == kFixedSize) continue;
    const std::optional<uint32_t> symbol = graph.sizes[size].AsSymbol();
    if (!symbol) continue;
    SPIRLOOM_TRY(SetSymbol(graph.symbols[*symbol], DescribeDim(input, i, shape[i]), shape[i],
                           above_greatest, values[*symbol]));
  }
  return Status();
}

Result<int64_t> SizeOf(const Graph& graph, uint32_t size, int64_t fixed,
                       std::span<const int64_t> values) {
  return size == kFixedSize ? fixed : Evaluate(graph.sizes[size], values);
}

Status CheckDims(const Graph& graph, const Tensor& input, const Shape& shape,
                 std::span<const int64_t> values) {
  for (size_t i = 0; i < shape.size(); ++i) {
    const uint32_t size = SizeAt(input.sizes, i);
    SPIRLOOM_TRY_ASSIGN(const int64_t wanted, SizeOf(graph, size, input.shape[i], values));
    if (shape[i] == wanted) continue;
    const bool fixed = size == kFixedSize;
    return Wrong({DescribeDim(input, i, shape[i]), " differs from the model's (", wanted,
                  fixed ? "" : ", ", fixed ? "" : ToString(graph.sizes[size], graph.symbols),
                  ")."});
  }
  return Status();
}

// Replaces the numbers that vary.
Status SetNumbers(const Graph& graph, std::span<const int64_t> values,
                  const std::vector<uint32_t>& sizes, std::vector<int64_t>& numbers) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    SPIRLOOM_TRY_ASSIGN(numbers[i], SizeOf(graph, sizes[i], numbers[i], values));
  }
  return Status();
}

Status SetInput(const Graph& graph, std::span<const int64_t> values, Tensor& input) {
  SPIRLOOM_TRY(SetNumbers(graph, values, input.sizes, input.shape));
  ops::TensorDesc desc;
  desc.dtype = input.dtype;
  desc.shape = ops::Ints(std::span<const int64_t>(input.shape));
  SPIRLOOM_TRY_ASSIGN(input.size, DenseSize(desc));
  return Status();
}

}  // namespace

Result<std::vector<int64_t>> SolveSymbols(const Graph& graph, std::span<const Shape> shapes,
                                          bool above_greatest) {
  if (shapes.size() != graph.inputs.size()) {
    return Wrong({"Number of shapes (", shapes.size(),
                  ") differs from that of the model's inputs (", graph.inputs.size(), ")."});
  }
  Values found(graph.symbols.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    SPIRLOOM_TRY(
        TakeSymbols(graph, graph.tensors[graph.inputs[i]], shapes[i], above_greatest, found));
  }
  std::vector<int64_t> values;
  for (const std::optional<int64_t>& value : found) values.push_back(value.value_or(0));
  for (size_t i = 0; i < shapes.size(); ++i) {
    SPIRLOOM_TRY(CheckDims(graph, graph.tensors[graph.inputs[i]], shapes[i], values));
  }
  return values;
}

Result<Graph> Specialize(const Graph& graph, std::span<const int64_t> values) {
  Graph special = graph;
  for (uint32_t input : special.inputs) {
    SPIRLOOM_TRY_WHILE(SetInput(graph, values, special.tensors[input]),
                       {"setting the shape of input ", Quote(special.tensors[input].name)});
  }
  for (size_t i = 0; i < special.nodes.size(); ++i) {
    Node& node = special.nodes[i];
    for (Arg& arg : node.args) {
      SPIRLOOM_TRY_WHILE(SetNumbers(graph, values, arg.sizes, arg.ints),
                         {"setting the arguments of ", DescribeNode(node, i)});
    }
    for (uint32_t output : node.outputs) special.tensors[output].inferred = true;
  }
  return special;
}

std::vector<std::string> DescribeDims(const Graph& graph, const Tensor& tensor) {
  std::vector<std::string> dims;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const uint32_t size = SizeAt(tensor.sizes, i);
    if (size == kFixedSize) {
      dims.push_back(std::to_string(tensor.shape[i]));
    } else {
      dims.push_back(size == kInferredSize ? "?" : ToString(graph.sizes[size], graph.symbols));
    }
  }
  return dims;
}

}  // namespace spirloom::graph
