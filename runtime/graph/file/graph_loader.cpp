#include "runtime/graph/file/graph_loader.h"

#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/graph/file/constants_file.h"
#include "runtime/graph/file/file_access.h"
#include "runtime/graph/file/graph_reader.h"

namespace spirloom::graph {
namespace {

constexpr size_t kSizePrefixBytes = 4;

// Returns the size-prefixed FlatBuffer at the start of `file`.
Result<std::span<const std::byte>> FlatBufferOf(std::span<const std::byte> file) {
  uint32_t size = 0;
  constexpr size_t kMin = kSizePrefixBytes + 8;  // root offset and identifier
  if (file.size() < kMin) {
    return InvalidFile(
        {"The file has ", file.size(), " bytes; a graph file has at least ", kMin, "."});
  }
  if (std::memcmp(file.data() + 8, schema::GraphIdentifier(), 4) != 0) {
    return InvalidFile({"The file is not a Spirloom graph: the identifier 'SLG1' is missing."});
  }
  for (size_t i = 0; i < kSizePrefixBytes; ++i) {
    size |= static_cast<uint32_t>(file[i]) << (8 * i);
  }
  if (size > file.size() - kSizePrefixBytes || size >= FLATBUFFERS_MAX_BUFFER_SIZE - 64) {
    return InvalidFile({"The size of the graph (", size, " bytes) exceeds the file (", file.size(),
                        " bytes). The file is truncated or damaged."});
  }
  return file.first(size + kSizePrefixBytes);
}

Result<const schema::Graph*> Verify(std::span<const std::byte> buffer) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(buffer.data()), buffer.size());
  if (!schema::VerifySizePrefixedGraphBuffer(verifier)) {
    return InvalidFile({"The graph is malformed: FlatBuffers verification failed."});
  }
  const schema::Graph* graph = schema::GetSizePrefixedGraph(buffer.data());
  constexpr auto kVersion = static_cast<uint32_t>(schema::FormatVersion::Current);
  if (graph->version() != kVersion) {
    return Error(StatusCode::kUnsupported,
                 {"The graph has format version ", graph->version(),
                  "; this runtime reads version ", kVersion, ". Import the model again."});
  }
  return graph;
}

// Reads a method of `source`, a verified FlatBuffer in the first `graph_bytes` bytes of `file`.
Result<Graph> GraphOf(const schema::Graph& source, size_t graph_bytes,
                      std::span<const std::byte> file,
                      std::optional<std::span<const std::byte>> constants_file,
                      std::string_view method) {
  std::span<const std::byte> constants;
  SPIRLOOM_TRY_ASSIGN(const std::string name, ConstantsFileName(source));
  if (!name.empty()) {
    if (!constants_file.has_value()) {
      return Error(StatusCode::kInvalidArgument,
                   {"The graph has its constants in the file ", Quote(name),
                    ". Load it from a file, not from memory."});
    }
    SPIRLOOM_TRY_ASSIGN(constants, ConstantSection(source, name, *constants_file));
  } else {
    const size_t start =
        (graph_bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
    if (start < file.size()) constants = file.subspan(start);
  }
  return ReadGraph(source, method, graph_bytes, constants);
}

}  // namespace

Result<Graph> ParseGraph(std::span<const std::byte> file,
                         std::optional<std::span<const std::byte>> constants_file,
                         std::string_view method) {
  SPIRLOOM_TRY_ASSIGN(std::span<const std::byte> buffer, FlatBufferOf(file));
  // FlatBuffers requires naturally aligned fields.
  std::vector<uint64_t> aligned;
  if (reinterpret_cast<uintptr_t>(buffer.data()) % alignof(uint64_t) != 0) {
    aligned.resize(buffer.size() / sizeof(uint64_t) + 1);
    std::memcpy(aligned.data(), buffer.data(), buffer.size());
    buffer = std::as_bytes(std::span(aligned)).first(buffer.size());
  }
  SPIRLOOM_TRY_ASSIGN(const schema::Graph* source, Verify(buffer));
  return GraphOf(*source, buffer.size(), file, constants_file, method);
}

Result<LoadedGraph> LoadGraphFile(const std::string& path, std::string_view method) {
  SPIRLOOM_TRY_ASSIGN(MappedFile file, MappedFile::Open(path));
  const std::string context = Concat({"reading ", path});
  Result<std::span<const std::byte>> buffer = FlatBufferOf(file.bytes());
  if (!buffer.ok()) return std::move(buffer).status().While(context);
  Result<const schema::Graph*> source = Verify(*buffer);
  if (!source.ok()) return std::move(source).status().While(context);
  std::optional<MappedFile> constants_file;
  std::optional<std::span<const std::byte>> constants;
  Result<std::string> name = ConstantsFileName(**source);
  if (!name.ok()) return std::move(name).status().While(context);
  if (!name->empty()) {
    const std::string directory = path.substr(0, path.find_last_of('/') + 1);
    Result<MappedFile> opened = MappedFile::Open(directory + *name);
    if (!opened.ok()) return std::move(opened).status().While(context);
    constants_file = std::move(opened).value();
    constants = constants_file->bytes();
  }
  Result<Graph> graph = GraphOf(**source, buffer->size(), file.bytes(), constants, method);
  if (!graph.ok()) return std::move(graph).status().While(context);
  graph->is_mapped = true;
  return LoadedGraph{std::move(file), std::move(constants_file), std::move(graph).value()};
}

}  // namespace spirloom::graph
