#include "tests/executorch/program_builder.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "runtime/graph/file/graph_loader.h"

namespace spirloom::delegate {
namespace {

constexpr size_t kHeader = 32;

void Store(std::vector<std::byte>& blob, size_t offset, size_t bytes, uint64_t value) {
  for (size_t i = 0; i < bytes; ++i) blob[offset + i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace

ProgramBuilder::ProgramBuilder() { graph.version = "0"; }

template <typename T>
int32_t ProgramBuilder::Add(T table) {
  auto value = std::make_unique<vk::ValueT>();
  value->value.Set(std::move(table));
  graph.values.push_back(std::move(value));
  return static_cast<int32_t>(graph.values.size() - 1);
}

int32_t ProgramBuilder::AddTensor(std::vector<uint32_t> sizes, vk::ElementType type,
                                  int32_t constant, int32_t memory) {
  vk::TensorT tensor;
  tensor.type = type;
  tensor.sizes = std::move(sizes);
  tensor.constant = constant;
  tensor.memory = memory;
  return Add(std::move(tensor));
}

int32_t ProgramBuilder::AddNull() { return Add(vk::NullT()); }

int32_t ProgramBuilder::AddInt(int64_t value) {
  vk::IntT table;
  table.value = value;
  return Add(std::move(table));
}

int32_t ProgramBuilder::AddDouble(double value) {
  vk::DoubleT table;
  table.value = value;
  return Add(std::move(table));
}

int32_t ProgramBuilder::AddSymInt() { return Add(vk::SymIntT()); }

int32_t ProgramBuilder::AddList(std::vector<int32_t> items) {
  vk::ValuesT table;
  table.items = std::move(items);
  return Add(std::move(table));
}

int32_t ProgramBuilder::AddInts(std::vector<int64_t> items) {
  vk::IntsT table;
  table.items = std::move(items);
  return Add(std::move(table));
}

void ProgramBuilder::AddCall(const std::string& name, std::vector<int32_t> args) {
  auto call = std::make_unique<vk::CallT>();
  call->node_id = static_cast<uint32_t>(graph.calls.size());
  call->name = name;
  call->args = std::move(args);
  graph.calls.push_back(std::move(call));
}

void ProgramBuilder::AddConstant(uint64_t offset, uint64_t size, const std::string& key) {
  auto bytes = std::make_unique<vk::BytesT>();
  bytes->offset = offset;
  bytes->size = size;
  bytes->key = key;
  graph.constants.push_back(std::move(bytes));
}

std::vector<std::byte> ProgramBuilder::Graph() const {
  flatbuffers::FlatBufferBuilder builder;
  vk::FinishGraphBuffer(builder, vk::Graph::Pack(builder, &graph));
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {bytes, bytes + builder.GetSize()};
}

std::vector<std::byte> ProgramBuilder::Blob(const std::vector<std::byte>& constants) const {
  const std::vector<std::byte> body = Graph();
  std::vector<std::byte> blob(kHeader + body.size() + constants.size());
  std::memcpy(&blob[4], "VH00", 4);
  Store(blob, 8, 2, 30);
  Store(blob, 10, 4, kHeader);
  Store(blob, 14, 4, body.size());
  Store(blob, 18, 4, kHeader + body.size());
  Store(blob, 22, 8, constants.size());
  std::memcpy(&blob[kHeader], body.data(), body.size());
  if (!constants.empty()) {
    std::memcpy(&blob[kHeader + body.size()], constants.data(), constants.size());
  }
  return blob;
}

Result<Program> ProgramBuilder::Read(const std::vector<std::byte>& constants) {
  region_ = Blob(constants);
  SPIRLOOM_TRY_ASSIGN(const BlobParts parts, SplitBlob(region_));
  return ReadProgram(parts, [&](std::string_view) -> std::optional<std::span<const std::byte>> {
    if (named.empty()) return std::nullopt;
    return std::span<const std::byte>(named);
  });
}

Result<std::unique_ptr<const graph::Graph>> Parse(const GraphParts& parts) {
  graph::GraphSource source{/*owner=*/nullptr, parts.file};
  source.constants = parts.constants;
  return source.Parse();
}

NameTable AllNames() {
  std::ifstream file(SPIRLOOM_EXECUTORCH_NAMES, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  return NameTable::Read(std::as_bytes(std::span(bytes))).value();
}

}  // namespace spirloom::delegate
