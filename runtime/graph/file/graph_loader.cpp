#include "runtime/graph/file/graph_loader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/path.h"
#include "runtime/base/text.h"
#include "runtime/graph/file/constants_file.h"
#include "runtime/graph/file/file_access.h"
#include "runtime/graph/file/file_kind.h"
#include "runtime/graph/file/graph_reader.h"

namespace spirloom::graph {
namespace {

// Fails for a file that uses additions to the format that this build does not know.
Status CheckFeatures(const schema::Graph& graph) {
  if (graph.required_features() == nullptr) return Status();
  std::vector<std::string> known, unknown;
  for (const char* const* name = schema::EnumNamesFeature(); *name != nullptr; ++name) {
    known.emplace_back(*name);
  }
  for (const flatbuffers::String* name : *graph.required_features()) {
    if (std::find(known.begin(), known.end(), name->str()) == known.end()) {
      unknown.push_back(Quote(name->string_view()));
    }
  }
  if (unknown.empty()) return Status();
  return Error(StatusCode::kUnsupported,
               "The graph requires {}; this runtime supports {}. Use a newer runtime, or import "
               "the model with this release.",
               Join(unknown, ", "), Join(known, ", "));
}

constexpr size_t kSizePrefixBytes = 4;

// Returns the size-prefixed FlatBuffer at the start of `file`.
Result<std::span<const std::byte>> FlatBufferOf(std::span<const std::byte> file) {
  uint32_t size = 0;
  constexpr size_t kMin = kSizePrefixBytes + 8;  // root offset and identifier
  if (file.size() < kMin) {
    return InvalidFile("The file has {} bytes; a graph file has at least {}.", file.size(), kMin);
  }
  if (std::memcmp(file.data() + 8, schema::GraphIdentifier(), 4) != 0) {
    return InvalidFile("The file is not a Spirloom graph: the identifier 'SLG1' is missing.{}",
                       AdviceOn(file));
  }
  for (size_t i = 0; i < kSizePrefixBytes; ++i) {
    size |= static_cast<uint32_t>(file[i]) << (8 * i);
  }
  if (size > file.size() - kSizePrefixBytes || size >= FLATBUFFERS_MAX_BUFFER_SIZE - 64) {
    return InvalidFile(
        "The size of the graph ({} bytes) exceeds the file ({} bytes). The file is truncated or "
        "damaged.",
        size, file.size());
  }
  return file.first(size + kSizePrefixBytes);
}

Result<const schema::Graph*> Verify(std::span<const std::byte> buffer) {
  // Every table takes at least 8 bytes: itself and a reference to it. The limit bounds the time for
  // files that refer to a table many times.
  constexpr flatbuffers::uoffset_t kMaxDepth = 64;
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(
      std::min<size_t>(buffer.size() / 8 + 1, std::numeric_limits<int32_t>::max()));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(buffer.data()), buffer.size(),
                                 kMaxDepth, max_tables);
  if (!schema::VerifySizePrefixedGraphBuffer(verifier)) {
    return InvalidFile("The graph is malformed: FlatBuffers verification failed.");
  }
  const schema::Graph* graph = schema::GetSizePrefixedGraph(buffer.data());
  constexpr auto kVersion = static_cast<uint32_t>(schema::FormatVersion::Current);
  if (graph->version() != kVersion) {
    return Error(
        StatusCode::kUnsupported,
        "The graph has format version {}; this runtime reads version {}. Import the model again.",
        graph->version(), kVersion);
  }
  SPIRLOOM_TRY(CheckFeatures(*graph));
  return graph;
}

// Reads a method of `source`, a verified FlatBuffer in the first `graph_bytes` bytes of the file.
Result<std::unique_ptr<Graph>> GraphOf(const schema::Graph& source, size_t graph_bytes,
                                       const GraphSource& bytes, std::string_view method) {
  if (!bytes.constants.empty()) {
    return ReadGraph(source, method, graph_bytes, {.separate = bytes.constants});
  }
  std::span<const std::byte> constants;
  SPIRLOOM_TRY_ASSIGN(const std::string name, ConstantsFileName(source));
  if (!name.empty()) {
    if (!bytes.constants_file.has_value()) {
      return Error(
          StatusCode::kInvalidArgument,
          "The graph has its constants in the file {}. Load it from a file, not from memory.",
          Quoted{name});
    }
    SPIRLOOM_TRY_ASSIGN(constants, ConstantSection(source, name, *bytes.constants_file));
  } else {
    const size_t start =
        (graph_bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
    if (start < bytes.file.size()) constants = bytes.file.subspan(start);
  }
  return ReadGraph(source, method, graph_bytes, {.section = constants});
}

Result<std::unique_ptr<Graph>> ParseSource(const GraphSource& bytes, std::string_view method) {
  SPIRLOOM_TRY_ASSIGN(std::span<const std::byte> buffer, FlatBufferOf(bytes.file));
  // FlatBuffers requires naturally aligned fields.
  std::vector<uint64_t> aligned;
  if (reinterpret_cast<uintptr_t>(buffer.data()) % alignof(uint64_t) != 0) {
    aligned.resize(buffer.size() / sizeof(uint64_t) + 1);
    std::memcpy(aligned.data(), buffer.data(), buffer.size());
    buffer = std::as_bytes(std::span(aligned)).first(buffer.size());
  }
  SPIRLOOM_TRY_ASSIGN(const schema::Graph* source, Verify(buffer));
  return GraphOf(*source, buffer.size(), bytes, method);
}

// Keeps a file mapped.
Result<std::shared_ptr<const MappedFile>> Map(const std::string& path) {
  SPIRLOOM_TRY_ASSIGN(MappedFile file, MappedFile::Open(path));
  return std::make_shared<const MappedFile>(std::move(file));
}

// Maps the constants file of the graph file at `path`, unless it contains its constants.
Status MapConstants(const std::string& path, GraphSource& source) {
  SPIRLOOM_TRY_ASSIGN(const std::span<const std::byte> buffer, FlatBufferOf(source.file));
  SPIRLOOM_TRY_ASSIGN(const schema::Graph* graph, Verify(buffer));
  SPIRLOOM_TRY_ASSIGN(const std::string name, ConstantsFileName(*graph));
  if (name.empty()) return Status();
  SPIRLOOM_TRY_ASSIGN(auto constants, Map(DirectoryOf(path) + name));
  source.constants_file = constants->bytes();
  source.mapped.push_back(std::move(constants));
  return Status();
}

}  // namespace

Result<Graph> ParseGraph(std::span<const std::byte> file,
                         std::optional<std::span<const std::byte>> constants_file,
                         std::string_view method) {
  SPIRLOOM_TRY_ASSIGN(const auto graph,
                      ParseSource({/*owner=*/nullptr, file, constants_file}, method));
  return std::move(*graph);
}

Result<std::unique_ptr<const Graph>> GraphSource::Parse(std::string_view method) const {
  SPIRLOOM_TRY_ASSIGN(std::unique_ptr<Graph> graph, ParseSource(*this, method));
  graph->is_mapped = !mapped.empty();
  return std::unique_ptr<const Graph>(std::move(graph));
}

Status GraphSource::CheckUnchanged() const {
  for (const auto& each : mapped) SPIRLOOM_TRY(each->CheckUnchanged());
  return Status();
}

Result<GraphSource> MapGraphFile(const std::string& path) {
  SPIRLOOM_TRY_ASSIGN(auto file, Map(path));
  GraphSource source{/*owner=*/nullptr, file->bytes()};
  source.mapped.push_back(std::move(file));
  Status status = MapConstants(path, source);
  if (!status.ok()) return While(std::move(status), "reading {}", path);
  return source;
}

Result<LoadedGraph> LoadGraphFile(const std::string& path, std::string_view method) {
  SPIRLOOM_TRY_ASSIGN(GraphSource source, MapGraphFile(path));
  Result<Graph> graph = ParseGraph(source.file, source.constants_file, method);
  if (!graph.ok()) return While(std::move(graph).status(), "reading {}", path);
  graph->is_mapped = true;
  return LoadedGraph{std::move(source), std::move(graph).value()};
}

}  // namespace spirloom::graph
