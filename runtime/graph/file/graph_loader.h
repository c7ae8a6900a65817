// Reads graph files (schema/graph.fbs), which may come from anywhere.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_LOADER_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_LOADER_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/mapped_file.h"
#include "runtime/graph/file/graph.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Checks `file` and turns it into a Graph whose constants refer to `file`, or to `constants_file`
// when the graph names one. Nothing in `file` is trusted: every index, rank, size and offset is
// checked, and the work done and memory taken are bounded by the file's size. Fails with
// kInvalidFile naming the field, and with kUnsupported for another version of the format or a
// tensor of more than INT32_MAX elements. A graph that names a constants file while
// `constants_file` is absent is kInvalidArgument. `method`: its name, or empty for the first; the
// others are not looked at. One that the file lacks is kNotFound, naming those that it has.
Result<Graph> ParseGraph(std::span<const std::byte> file,
                         std::optional<std::span<const std::byte>> constants_file = std::nullopt,
                         std::string_view method = {});

// A graph together with the mapped files that its constants refer to.
struct LoadedGraph {
  MappedFile file;
  std::optional<MappedFile> constants_file;
  Graph graph;
};

// Maps and parses a method of the graph file at `path`, and the constants file it names, from the
// same folder.
Result<LoadedGraph> LoadGraphFile(const std::string& path, std::string_view method = {});

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_LOADER_H_
