// Specializes a graph with symbols for given input shapes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_SPECIALIZE_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_SPECIALIZE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Returns the values of the symbols for which input i of `graph` has the shape shapes[i]. Fails
// with kInvalidArgument, with the input and both values, for a wrong rank or fixed dimension, a
// size out of bounds (above the maximum only without `allow_exceeding_max`), or a symbol with two
// values. Integer input i has the value ints[i].
Result<std::vector<int64_t>> SolveSymbols(const Graph& graph, std::span<const Shape> shapes,
                                          std::span<const int64_t> ints,
                                          bool allow_exceeding_max = false);
// As above, with the maximum of each integer input.
Result<std::vector<int64_t>> SolveSymbols(const Graph& graph, std::span<const Shape> shapes,
                                          bool allow_exceeding_max = false);

// Returns `graph` with values[i] for symbol i in inputs and arguments; shapes of node outputs are
// marked as inferred. Constants are the same views. Fails with kUnsupported for an input of more
// than INT32_MAX elements.
Result<Graph> Specialize(const Graph& graph, std::span<const int64_t> values);

// Returns a text per dimension, e.g. {"batch", "3", "2*height"}; "?" for an inferred size.
std::vector<std::string> DescribeDims(const Graph& graph, const Tensor& tensor);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_SPECIALIZE_H_
