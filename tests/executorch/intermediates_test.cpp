#include "integrations/executorch/lower/intermediates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integrations/executorch/lower/lowering.h"
#include "runtime/graph/file/graph_loader.h"
#include "tests/executorch/program_builder.h"
#include "tests/value_of.h"

namespace spirloom::delegate {
namespace {

using testing::HasSubstr;

// relu, abs and neg of x in a row.
std::vector<std::byte> Chain() {
  ProgramBuilder builder;
  int32_t x = builder.AddTensor({2, 3});
  builder.graph.inputs = {0};
  for (const char* name : {"aten.relu", "aten.abs", "aten.neg"}) {
    const int32_t y = builder.AddTensor({2, 3});
    builder.AddCall(name, {x, y});
    x = y;
  }
  builder.graph.outputs = {static_cast<uint32_t>(x)};
  const Program program = ValueOf(builder.Read());
  return ValueOf(Lower(program, AllNames())).graph.file;
}

TEST(Intermediates, ResultsOfNodesFollowTheOutputs) {
  const ObservedGraph observed = ValueOf(WithIntermediates(Chain()));
  EXPECT_EQ(observed.further_outputs, 2U);
  const graph::Graph graph = ValueOf(graph::ParseGraph(observed.file));
  ASSERT_EQ(graph.outputs.size(), 3U);
  ASSERT_EQ(observed.nodes.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(observed.nodes[i].name, graph.nodes[i].name);
    EXPECT_EQ(graph.outputs[observed.nodes[i].output], graph.nodes[i].outputs[0]);
  }
  EXPECT_EQ(observed.nodes[2].output, 0U);
}

TEST(Intermediates, RejectsMalformedFiles) {
  std::vector<std::byte> file = Chain();
  for (size_t size = 0; size < 64; ++size) {
    EXPECT_FALSE(WithIntermediates(std::span(file).first(size)).ok()) << size;
  }
  file.resize(file.size() / 2);
  EXPECT_THAT(WithIntermediates(file).status().message(), HasSubstr("is malformed"));
}

}  // namespace
}  // namespace spirloom::delegate
