// Turns the tables of a graph file into a Graph.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_READER_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/graph/file/file_access.h"
#include "runtime/graph/file/graph.h"

namespace spirloom::graph {

// Checks everything in a method of the verified `root`, which comes from a file part of `file_size`
// bytes, and copies it. Constants refer to `constant_section`. Fails as ParseGraph() does.
Result<Graph> ReadGraph(const schema::Graph& root, std::string_view method, uint64_t file_size,
                        std::span<const std::byte> constant_section);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_READER_H_
