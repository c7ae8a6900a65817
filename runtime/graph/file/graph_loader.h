// Reads graph files (schema/graph.fbs). Files are untrusted input.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_LOADER_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/mapped_file.h"
#include "runtime/graph/file/graph.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Validates `file` and parses one of its methods: `method`, or the first if it is empty. Constants
// of the result are views into `file`, or into `constants_file` if the graph has external
// constants. Every index, rank, size and offset is checked; time and memory are bounded by the file
// size. Fails with
//   kInvalidFile and the name of the field;
//   kUnsupported for another format version or a tensor of more than INT32_MAX elements;
//   kInvalidArgument if the graph has external constants and `constants_file` is absent;
//   kNotFound and the names of the methods if `method` does not exist.
Result<Graph> ParseGraph(std::span<const std::byte> file,
                         std::optional<std::span<const std::byte>> constants_file = std::nullopt,
                         std::string_view method = {});

// A graph file whose methods can be parsed: the bytes, and their owner. Copies share the owner.
struct GraphSource {
  std::shared_ptr<const void> owner;  // null: the bytes outlive all users
  std::span<const std::byte> file;    // empty: the file has been released
  std::optional<std::span<const std::byte>> constants_file = {};
  // The bytes of all constants, by index. Empty: they are in `file` or `constants_file`.
  std::span<const std::span<const std::byte>> constants = {};
  std::vector<std::shared_ptr<const MappedFile>> mapped = {};  // the files of the bytes

  // Fails with kInvalidFile if a mapped file was written since it was opened: its constants would
  // be those of another model.
  Status CheckUnchanged() const;

  // Parses a method as ParseGraph() does. The constants of the result are views into the source.
  // Fails with kInvalidFile if `constants` do not have the number and sizes that the file states.
  Result<std::unique_ptr<const Graph>> Parse(std::string_view method = {}) const;
};

// Maps the graph file at `path`, and its constants file in the same directory. Parse() checks the
// contents.
Result<GraphSource> MapGraphFile(const std::string& path);

// A graph and the mapped file that contains its constants.
struct LoadedGraph {
  GraphSource source;
  Graph graph;
};

// Maps and parses a method of the graph file at `path`.
Result<LoadedGraph> LoadGraphFile(const std::string& path, std::string_view method = {});

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_GRAPH_LOADER_H_
