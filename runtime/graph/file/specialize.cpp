#include "runtime/graph/file/specialize.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/ops/eval.h"

namespace spirloom::graph {
namespace {

using SymbolValues = std::vector<std::optional<int64_t>>;

template <typename... Values>
SPIRLOOM_ALWAYS_INLINE inline Status InvalidArgument(FormatString<sizeof...(Values)> format,
                                                     const Values&... values) {
  return Error(StatusCode::kInvalidArgument, format, values...);
}

// "Dimension 0 (9) of input 'x'".
std::string DescribeDim(const Tensor& input, size_t dim, int64_t size) {
  return Format("Dimension {} ({}) of input {}", dim, size, Quoted{input.name});
}

uint32_t SizeAt(const std::vector<uint32_t>& sizes, size_t i) {
  return i < sizes.size() ? sizes[i] : kFixedSize;
}

// The size of an input dimension that determines a symbol.
struct SymbolDim {
  LinearSize size;
  std::string description;  // of the dimension
  std::string expr;         // e.g. "seq", "32*width"

  int64_t At(int64_t value) const {
    ops::Eval eval;
    return eval.Add(eval.Mul(size.factor, value), size.offset);
  }
};

Status SetSymbol(const Symbol& symbol, const SymbolDim& dim, int64_t size, bool allow_exceeding_max,
                 std::optional<int64_t>& value) {
  ops::Eval eval;
  const int64_t product = eval.Sub(size, dim.size.offset);
  if (!eval.ok() || product % dim.size.factor != 0) {
    return InvalidArgument("{} is not {} for any {}.", dim.description, Quoted{dim.expr},
                           Quoted{symbol.name});
  }
  const int64_t given = product / dim.size.factor;
  if (given < symbol.min || (given > symbol.max && !allow_exceeding_max)) {
    return InvalidArgument(
        "{} is outside the bounds of {} ({} to {}). Import the model with other bounds: --dim "
        "{}=MIN..MAX.",
        dim.description, Quoted{dim.expr}, dim.At(symbol.min), dim.At(symbol.max), symbol.name);
  }
  if (value && *value != given) {
    return InvalidArgument("{} is {}, which is {} in another input.", dim.description,
                           Quoted{dim.expr}, dim.At(*value));
  }
  value = given;
  return Status();
}

// Sets the symbols that input dimensions determine.
Status BindSymbols(const Graph& graph, const Tensor& input, const Shape& shape,
                   bool allow_exceeding_max, SymbolValues& values) {
  if (shape.size() != input.shape.size()) {
    return InvalidArgument("Input {} has rank {}; expected {}.", Quoted{input.name}, shape.size(),
                           input.shape.size());
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const uint32_t size = SizeAt(input.sizes, i);
    if (size == kFixedSize) continue;
    const std::optional<LinearSize> linear = graph.sizes[size].AsLinear();
    if (!linear) continue;
    const SymbolDim dim{*linear, DescribeDim(input, i, shape[i]),
                        ToString(graph.sizes, size, graph.symbols)};
    SPIRLOOM_TRY(SetSymbol(graph.symbols[linear->symbol], dim, shape[i], allow_exceeding_max,
                           values[linear->symbol]));
  }
  return Status();
}

// Sets the symbols that integer inputs determine.
Status BindInts(const Graph& graph, std::span<const int64_t> ints, bool allow_exceeding_max,
                SymbolValues& values) {
  if (ints.size() != graph.int_inputs.size()) {
    return InvalidArgument("Number of integers is {}; expected {}, one per integer input.",
                           ints.size(), graph.int_inputs.size());
  }
  for (size_t i = 0; i < ints.size(); ++i) {
    const IntInput& input = graph.int_inputs[i];
    const Symbol& symbol = graph.symbols[input.symbol];
    if (ints[i] < symbol.min || (ints[i] > symbol.max && !allow_exceeding_max)) {
      return InvalidArgument(
          "Integer input {} is {}, which is outside its bounds ({} to {}). Import the model with "
          "other bounds: --dim {}=MIN..MAX.",
          Quoted{input.name}, ints[i], symbol.min, symbol.max, symbol.name);
    }
    std::optional<int64_t>& value = values[input.symbol];
    if (value && *value != ints[i]) {
      return InvalidArgument("Integer input {} is {}, but {} is {} in another integer input.",
                             Quoted{input.name}, ints[i], Quoted{symbol.name}, *value);
    }
    value = ints[i];
  }
  return Status();
}

int64_t SizeOf(uint32_t size, int64_t fixed, std::span<const int64_t> sizes) {
  return size == kFixedSize ? fixed : sizes[size];
}

// `sizes` are the values of the size expressions.
Status CheckDims(const Graph& graph, const Tensor& input, const Shape& shape,
                 std::span<const int64_t> sizes) {
  for (size_t i = 0; i < shape.size(); ++i) {
    const uint32_t size = SizeAt(input.sizes, i);
    const int64_t expected = SizeOf(size, input.shape[i], sizes);
    if (shape[i] == expected) continue;
    const bool fixed = size == kFixedSize;
    return InvalidArgument("{} differs from the model's ({}{}{}).", DescribeDim(input, i, shape[i]),
                           expected, fixed ? "" : ", ",
                           fixed ? "" : ToString(graph.sizes, size, graph.symbols));
  }
  return Status();
}

// Replaces symbolic values by those of the size expressions, `values`.
void SetValues(std::span<const int64_t> values, const std::vector<uint32_t>& sizes,
               std::vector<int64_t>& target) {
  for (size_t i = 0; i < sizes.size(); ++i) target[i] = SizeOf(sizes[i], target[i], values);
}

Status SetInput(std::span<const int64_t> sizes, Tensor& input) {
  SetValues(sizes, input.sizes, input.shape);
  ops::TensorDesc desc;
  desc.dtype = input.dtype;
  desc.shape = ops::Ints(std::span<const int64_t>(input.shape));
  SPIRLOOM_TRY_ASSIGN(input.size, DenseSize(desc));
  return Status();
}

}  // namespace

Result<std::vector<int64_t>> SolveSymbols(const Graph& graph, std::span<const Shape> shapes,
                                          bool allow_exceeding_max) {
  std::vector<int64_t> ints;
  for (const IntInput& input : graph.int_inputs) ints.push_back(graph.symbols[input.symbol].max);
  return SolveSymbols(graph, shapes, ints, allow_exceeding_max);
}

Result<std::vector<int64_t>> SolveSymbols(const Graph& graph, std::span<const Shape> shapes,
                                          std::span<const int64_t> ints, bool allow_exceeding_max) {
  if (shapes.size() != graph.inputs.size()) {
    return InvalidArgument("Number of shapes is {}; expected {}, one per input.", shapes.size(),
                           graph.inputs.size());
  }
  SymbolValues found(graph.symbols.size());
  SPIRLOOM_TRY(BindInts(graph, ints, allow_exceeding_max, found));
  for (size_t i = 0; i < shapes.size(); ++i) {
    SPIRLOOM_TRY(
        BindSymbols(graph, graph.tensors[graph.inputs[i]], shapes[i], allow_exceeding_max, found));
  }
  std::vector<int64_t> values;
  for (const std::optional<int64_t>& value : found) values.push_back(value.value_or(0));
  SPIRLOOM_TRY_ASSIGN(const std::vector<int64_t> sizes, Evaluate(graph.sizes, values));
  for (size_t i = 0; i < shapes.size(); ++i) {
    SPIRLOOM_TRY(CheckDims(graph, graph.tensors[graph.inputs[i]], shapes[i], sizes));
  }
  return values;
}

Result<Graph> Specialize(const Graph& graph, std::span<const int64_t> values) {
  Graph specialized = graph;
  SPIRLOOM_TRY_ASSIGN(const std::vector<int64_t> sizes, Evaluate(graph.sizes, values));
  for (uint32_t input : specialized.inputs) {
    SPIRLOOM_TRY_WHILE(SetInput(sizes, specialized.tensors[input]), "setting the shape of input {}",
                       Quoted{specialized.tensors[input].name});
  }
  const std::vector<double> numbers = Evaluate(graph.numbers, sizes);
  for (Node& node : specialized.nodes) {
    for (Arg& arg : node.args) {
      SetValues(sizes, arg.sizes, arg.ints);
      if (arg.number != kFixedSize) arg.f = numbers[arg.number];
    }
    for (uint32_t output : node.outputs) specialized.tensors[output].inferred = true;
  }
  return specialized;
}

std::vector<std::string> DescribeDims(const Graph& graph, const Tensor& tensor) {
  std::vector<std::string> dims;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const uint32_t size = SizeAt(tensor.sizes, i);
    if (size == kFixedSize) {
      dims.push_back(std::to_string(tensor.shape[i]));
    } else {
      dims.push_back(size == kInferredSize ? "?" : ToString(graph.sizes, size, graph.symbols));
    }
  }
  return dims;
}

}  // namespace spirloom::graph
