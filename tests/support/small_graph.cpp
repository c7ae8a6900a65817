#include "tests/support/small_graph.h"

#include <gmock/gmock.h>

#include "runtime/graph/file/graph_loader.h"

namespace spirloom::graph {

FileGraph SmallGraph() {
  FileGraph file;
  const uint32_t x = file.AddTensor("x", {2, 3});
  const uint32_t w = file.AddConstant<float>("w", {3}, 0, {1, 2, 3});
  const uint32_t sum = file.AddTensor("sum", {2, 3});
  const uint32_t y = file.AddTensor("y", {2, 3}, 0, 2);
  file.nodes.push_back(
      {"aten.add.Tensor", {TensorArg(x), TensorArg(w), FloatArg(0.5)}, {sum}, "a"});
  file.nodes.push_back({"aten.relu", {TensorArg(sum)}, {y}, "r"});
  file.inputs = {x};
  file.outputs = {y};
  return file;
}

Status ErrorOf(const FileGraph& file) { return ParseGraph(file.Write()).status(); }

void ExpectError(const FileGraph& file, const std::string& message, StatusCode code) {
  const Status status = ErrorOf(file);
  EXPECT_EQ(status.code(), code);
  EXPECT_THAT(status.message(), ::testing::HasSubstr(message));
}

}  // namespace spirloom::graph
