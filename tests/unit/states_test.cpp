// Graphs with states: where their updates live, and what is copied when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/lowering.h"
#include "tests/unit/fake_library/fake_library.h"
#include "tests/unit/graph_file_builder.h"

namespace spirloom::graph {
namespace {

using ::spirloom::testing::FakeIndex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StatesTest : public ::testing::Test {
 protected:
  uint32_t State(const std::string& name) {
    const uint32_t tensor = file_.AddTensor(name, {4});
    file_.states.push_back({tensor, tensor});
    return tensor;
  }
  uint32_t Add(uint32_t a, uint32_t b) {
    const uint32_t y = file_.AddTensor("t", {4});
    file_.nodes.push_back({"test.add", {TensorArg(a), TensorArg(b)}, {y}, "t"});
    return y;
  }
  // The nodes in order, "add" or "bytes", each with the state that its result lives in.
  std::vector<std::string> Nodes(Storage storage = Storage::kBuffer) {
    const std::vector<std::byte> bytes = file_.Write();
    const Result<Graph> graph = ParseGraph(bytes);
    if (!graph.ok()) return {graph.status().message()};
    const Result<Plan> plan = Lower(*graph, FakeIndex(), {}, {.storage = storage});
    if (!plan.ok()) return {plan.status().message()};
    std::vector<std::string> texts;
    for (const PlanNode& node : plan->nodes) {
      const uint32_t result = node.op == nullptr ? node.operands[1][0] : node.outputs[0];
      if (node.op == nullptr && plan->Root(node.operands[0][0]) == result) continue;  // is there
      const int32_t state = plan->tensors[plan->Root(result)].state;
      texts.push_back(node.op == nullptr ? "bytes" : node.kernel->name);
      if (state >= 0) texts.back() += " to " + plan->tensors[plan->Root(result)].name;
    }
    return texts;
  }

  FileGraph file_;
};

TEST_F(StatesTest, ANodeThatReadsAStateDoesNotWriteIt) {
  const uint32_t s = State("s");
  file_.states[0].update = Add(s, s);
  EXPECT_THAT(Nodes(), ElementsAre("add", "bytes to s"));
}

TEST_F(StatesTest, AnUpdateLivesInTheStateThatNobodyReadsAnyMore) {
  const uint32_t s = State("s");
  const uint32_t half = Add(s, s);
  file_.states[0].update = Add(half, half);
  EXPECT_THAT(Nodes(), ElementsAre("add", "add to s"));
}

TEST_F(StatesTest, AStateThatIsReadLaterStaysAsItWas) {
  const uint32_t s = State("s");
  const uint32_t half = Add(s, s);
  const uint32_t update = Add(half, half);
  file_.outputs = {Add(update, s)};
  file_.tensors[file_.outputs[0]].name = "y";
  file_.states[0].update = update;
  EXPECT_THAT(Nodes(), ElementsAre("add", "add", "add", "bytes to s"));
}

TEST_F(StatesTest, OutputsGetTheValueOfTheirRun) {
  const uint32_t s = State("s");
  file_.states[0].update = Add(Add(s, s), s);
  file_.tensors[file_.states[0].update].name = "y";
  file_.outputs = {s, file_.states[0].update};
  EXPECT_THAT(Nodes(), ElementsAre("add", "add", "bytes", "bytes to s"));
}

TEST_F(StatesTest, StatesChangePlaces) {
  const uint32_t a = State("a"), b = State("b"), c = State("c");
  file_.states[0].update = b;
  file_.states[1].update = c;
  file_.states[2].update = a;
  EXPECT_THAT(Nodes(), ElementsAre("bytes", "bytes to b", "bytes to c", "bytes to a"));
}

TEST_F(StatesTest, TwoStatesOfOneUpdate) {
  const uint32_t a = State("a");
  State("b");
  const uint32_t half = Add(a, a);
  file_.states[0].update = file_.states[1].update = Add(half, half);
  EXPECT_THAT(Nodes(), ElementsAre("add", "add to a", "bytes to b"));
}

TEST_F(StatesTest, InputsAndConstantsAreCopied) {
  State("a");
  State("b");
  const uint32_t x = file_.AddTensor("x", {4});
  file_.inputs = {x};
  file_.states[0].update = x;
  file_.states[1].update = file_.AddConstant<float>("w", {4}, 0, {1, 2, 3, 4});
  EXPECT_THAT(Nodes(), ElementsAre("bytes to a", "bytes to b"));
}

TEST_F(StatesTest, WhatChangesNothingIsLeftOut) {
  const uint32_t s = State("s");
  Add(s, s);
  EXPECT_THAT(Nodes(), ElementsAre());
  const uint32_t view = file_.AddTensor("view", {4});
  file_.nodes.push_back({"test.view", {TensorArg(s), IntsArg({4})}, {view}, "v"});
  file_.states[0].update = view;
  EXPECT_THAT(Nodes(), ElementsAre());
}

TEST_F(StatesTest, TexturesAreCopiedIntoTheState) {
  const uint32_t s = State("s");
  file_.states[0].update = Add(s, s);
  EXPECT_THAT(Nodes(Storage::kTexture3D), ElementsAre("copy", "add", "copy to s"));
}

TEST_F(StatesTest, PartsOfAnUpdateLiveInTheStateToo) {
  const uint32_t s = State("s");
  file_.tensors[s].shape = {8};
  const uint32_t x = file_.AddTensor("x", {4});
  file_.inputs = {x};
  const uint32_t whole = file_.AddTensor("whole", {8});
  const uint32_t a = Add(x, x), b = Add(a, x);  // b begins where no binding can
  file_.nodes.push_back({"test.join", {TensorsArg({a, b})}, {whole}, "j"});
  file_.states[0].update = whole;
  EXPECT_THAT(Nodes(), ElementsAre("add to s", "add", "join to s"));
}

TEST_F(StatesTest, RefusesAnUpdateOfAnotherType) {
  const uint32_t s = State("s");
  file_.states[0].update = Add(s, s);
  file_.tensors[s].shape = {1};
  file_.states[0].update = file_.AddConstant<float>("w", {4}, 0, {1, 2, 3, 4});
  EXPECT_THAT(Nodes(), ElementsAre(HasSubstr("is declared as")));
  file_.nodes.clear();
  EXPECT_THAT(Nodes(), ElementsAre("State 's' is float32 [1], but its update is float32 [4]."));
}

}  // namespace
}  // namespace spirloom::graph
