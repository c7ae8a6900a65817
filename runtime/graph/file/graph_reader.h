// Converts the FlatBuffer of a graph file to a Graph.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_READER_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/graph/file/file_access.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/file/tensor_reader.h"

namespace spirloom::graph {

// Validates and copies a method of `root`, which has passed FlatBuffers verification and has
// `file_size` bytes. Constants are views into `constants`. Fails as GraphSource::Parse() does.
Result<std::unique_ptr<Graph>> ReadGraph(const schema::Graph& root, std::string_view method,
                                         uint64_t file_size, const ConstantBytes& constants);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_READER_H_
