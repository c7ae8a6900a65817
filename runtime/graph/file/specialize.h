// Graphs with symbols: from shapes of inputs to a graph of these sizes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_SPECIALIZE_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_SPECIALIZE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// The values of the symbols for which input i of `graph` has the shape shapes[i]. Fails with
// kInvalidArgument, naming the input and both numbers, for a rank or a fixed dimension that is
// another, a size outside its bounds, unless it is one above and `above_greatest`, and for one
// symbol with two values.
Result<std::vector<int64_t>> SolveSymbols(const Graph& graph, std::span<const Shape> shapes,
                                          bool above_greatest = false);

// `graph` for values[i] of symbol i: its inputs have these sizes, its nodes these arguments, and
// computed tensors the shape that comes of it. Constants refer to what those of `graph` do. Fails
// with kUnsupported for an input of more than INT32_MAX elements.
Result<Graph> Specialize(const Graph& graph, std::span<const int64_t> values);

// In words what each dimension of a tensor is, e.g. {"batch", "3", "2*height"}; "?" where it is
// inferred.
std::vector<std::string> DescribeDims(const Graph& graph, const Tensor& tensor);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_SPECIALIZE_H_
