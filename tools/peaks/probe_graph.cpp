#include "tools/peaks/probe_graph.h"

#include <memory>
#include <utility>

#include "runtime/base/align.h"

namespace spirloom::peaks {
namespace {

constexpr size_t kAlignment = 64;  // required of the constant section, which is empty here

std::unique_ptr<schema::ArgT> TensorArg(uint32_t tensor) {
  auto arg = std::make_unique<schema::ArgT>();
  arg->kind = schema::ArgKind::Tensor;
  arg->tensors = {tensor};
  return arg;
}

std::unique_ptr<schema::ArgT> IntArg(int64_t value) {
  auto arg = std::make_unique<schema::ArgT>();
  arg->kind = schema::ArgKind::Int;
  arg->ints = {value};
  return arg;
}

}  // namespace

ProbeGraph::ProbeGraph(uint64_t count) {
  graph_.version = static_cast<uint32_t>(schema::FormatVersion::Current);
  graph_.inputs = {AddTensor(count)};
}

ProbeGraph::Tensor ProbeGraph::Add(const std::string& op, Tensor x,
                                   const std::vector<int64_t>& ints, uint64_t count) {
  auto node = std::make_unique<schema::NodeT>();
  node->op = op;
  node->args.push_back(TensorArg(x));
  for (const int64_t value : ints) node->args.push_back(IntArg(value));
  const Tensor result = AddTensor(count);
  node->outputs = {result};
  graph_.nodes.push_back(std::move(node));
  return result;
}

std::vector<std::byte> ProbeGraph::Finish(const std::vector<Tensor>& outputs) {
  graph_.outputs = outputs;
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishSizePrefixedGraphBuffer(builder, schema::Graph::Pack(builder, &graph_));
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  std::vector<std::byte> bytes(data, data + builder.GetSize());
  bytes.resize(AlignUp(bytes.size(), kAlignment));
  return bytes;
}

ProbeGraph::Tensor ProbeGraph::AddTensor(uint64_t count) {
  auto tensor = std::make_unique<schema::TensorT>();
  tensor->name = "t" + std::to_string(graph_.tensors.size());
  tensor->shape = {count};
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<Tensor>(graph_.tensors.size() - 1);
}

}  // namespace spirloom::peaks
