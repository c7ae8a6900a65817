// A graph file of many nodes. Apart from graph_loader_test.cpp, which emulators run: there it takes
// minutes.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/graph/file/graph_loader.h"
#include "tests/support/graph_file_builder.h"

namespace spirloom::graph {
namespace {

TEST(LargeGraph, IsRead) {
  constexpr uint32_t kNodes = 350'000;  // with their arguments and tensors, more than 10^6 tables
  FileGraph file;
  file.inputs = {file.AddTensor("x", {2})};
  for (uint32_t i = 0; i < kNodes; ++i) {
    const uint32_t y = file.AddTensor(i + 1 == kNodes ? "y" : "", {2});
    file.nodes.push_back({"aten.relu", {TensorArg(i)}, {y}, ""});
  }
  file.outputs = {kNodes};
  const std::vector<std::byte> bytes = file.Write();
  const Result<Graph> graph = ParseGraph(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->nodes.size(), kNodes);
}

}  // namespace
}  // namespace spirloom::graph
