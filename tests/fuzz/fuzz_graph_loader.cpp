// Parses arbitrary bytes as a graph file. Accepted graphs must satisfy the invariants of graph.h.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/file/specialize.h"
#include "tests/fuzz/fuzzing.h"
#include "tests/support/graph_file_builder.h"

namespace {

using spirloom::graph::Arg;
using spirloom::graph::Graph;
using spirloom::graph::Node;

using spirloom::fuzz::Touch;

void Require(bool condition) { spirloom::fuzz::Require(condition, "an invariant of graph.h"); }

// Checks the invariants that the runtime relies on (graph.h).
void CheckGraph(const Graph& graph) {
  for (const auto& constant : graph.constants) Touch(constant);
  for (const auto& tensor : graph.tensors) {
    Require(tensor.shape.size() <= spirloom::kMaxRank);
    Require(tensor.constant < static_cast<int64_t>(graph.constants.size()));
    if (tensor.constant >= 0) {
      Require(graph.constants[static_cast<size_t>(tensor.constant)].size() == tensor.size);
    }
  }
  for (const Node& node : graph.nodes) {
    for (const Arg& arg : node.args) {
      for (uint32_t tensor : arg.tensors) Require(tensor < graph.tensors.size());
    }
    for (uint32_t tensor : node.outputs) Require(tensor < graph.tensors.size());
  }
  for (uint32_t tensor : graph.inputs) Require(tensor < graph.tensors.size());
  for (uint32_t tensor : graph.outputs) Require(tensor < graph.tensors.size());
  Require(graph.states.size() == graph.updates.size());
  for (uint32_t tensor : graph.updates) Require(tensor < graph.tensors.size());
  for (uint32_t tensor : graph.states) {
    Require(tensor < graph.tensors.size());
    const spirloom::graph::Tensor& state = graph.tensors[tensor];
    Require(state.sizes.empty() && state.constant < 0);
    Require(state.initial < static_cast<int64_t>(graph.constants.size()));
    if (state.initial >= 0) {
      Require(graph.constants[static_cast<size_t>(state.initial)].size() == state.size);
    }
  }
}

// Specializing to the maximum sizes returns the file's shapes. Minimum sizes may be rejected.
void CheckSizes(const Graph& graph) {
  std::vector<spirloom::Shape> shapes;
  for (uint32_t input : graph.inputs) shapes.push_back(graph.tensors[input].shape);
  const auto max = SolveSymbols(graph, shapes);
  Require(max.ok());
  const auto same = Specialize(graph, *max);
  Require(same.ok());
  for (uint32_t input : graph.inputs) {
    Require(same->tensors[input].shape == graph.tensors[input].shape);
    Require(same->tensors[input].size == graph.tensors[input].size);
    for (const std::string& dim : DescribeDims(graph, graph.tensors[input])) Require(!dim.empty());
  }
  std::vector<int64_t> min;
  for (const auto& symbol : graph.symbols) min.push_back(symbol.min);
  const auto small = Specialize(graph, min);
  if (small.ok()) CheckGraph(*small);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  const auto graph = spirloom::graph::ParseGraph(file);
  static spirloom::fuzz::Tally read("graphs read");
  read.Count(graph.ok());
  if (graph.ok()) {
    CheckGraph(*graph);
    CheckSizes(*graph);
    for (const std::string& method : graph->methods) {
      const auto other = spirloom::graph::ParseGraph(file, std::nullopt, method);
      if (!other.ok()) continue;
      CheckGraph(*other);
      CheckSizes(*other);
    }
  } else {
    Require(!graph.status().message().empty());
  }
  // Uses the bytes as the constants file too, unchanged and with a valid trailer.
  const std::vector<std::byte> bytes(file.begin(), file.end());
  for (const auto& constants : {bytes, spirloom::graph::ConstantsFile(bytes, {})}) {
    const auto with_file = spirloom::graph::ParseGraph(file, constants);
    if (with_file.ok()) CheckGraph(*with_file);
  }
  return 0;
}
