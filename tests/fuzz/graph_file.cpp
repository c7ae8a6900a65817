#include "tests/fuzz/graph_file.h"

#include <cstring>

#include "runtime/graph/file/graph_loader.h"
#include "tests/fuzz/fuzzing.h"

namespace spirloom::fuzz {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kPrefixBytes = 4;
// Limits the number of objects: a small file may contain many that share its bytes.
constexpr flatbuffers::uoffset_t kMaxTables = 4096;

size_t Padded(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

// The verifier does not check the values of enumerations.
void RepairEnums(schema::GraphT& graph) {
  for (const auto& tensor : graph.tensors) {
    if (tensor->dtype > schema::DType::MAX) tensor->dtype = schema::DType::F32;
    if (tensor->storage > schema::Storage::MAX) tensor->storage = schema::Storage::Auto;
  }
  for (const auto& node : graph.nodes) {
    for (const auto& arg : node->args) {
      if (arg->kind > schema::ArgKind::MAX) arg->kind = schema::ArgKind::None;
    }
  }
}

}  // namespace

GraphFile ReadGraphFile(std::span<const std::byte> file) {
  GraphFile result;
  result.graph.version = static_cast<uint32_t>(schema::FormatVersion::Current);
  const AlignedCopy copy(file);
  const auto* data = reinterpret_cast<const uint8_t*>(copy.bytes().data());
  uint32_t size = 0;
  if (file.size() < kPrefixBytes + 8) return result;
  std::memcpy(&size, data, sizeof(size));
  if (size > file.size() - kPrefixBytes) return result;
  const size_t prefixed_size = kPrefixBytes + size;
  flatbuffers::Verifier verifier(data, prefixed_size, /*max_depth=*/16, kMaxTables);
  if (!schema::VerifySizePrefixedGraphBuffer(verifier)) return result;
  schema::GetSizePrefixedGraph(data)->UnPackTo(&result.graph);
  RepairEnums(result.graph);
  if (Padded(prefixed_size) < file.size()) {
    const std::span<const std::byte> section = file.subspan(Padded(prefixed_size));
    result.constants.assign(section.begin(), section.end());
  }
  return result;
}

std::vector<std::byte> WriteGraphFile(const GraphFile& file) {
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishSizePrefixedGraphBuffer(builder, schema::Graph::Pack(builder, &file.graph));
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  std::vector<std::byte> bytes(data, data + builder.GetSize());
  bytes.resize(Padded(bytes.size()));
  bytes.insert(bytes.end(), file.constants.begin(), file.constants.end());
  return bytes;
}

}  // namespace spirloom::fuzz
