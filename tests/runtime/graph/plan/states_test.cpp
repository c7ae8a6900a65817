// Graphs with states: in-place updates and copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/compile.h"
#include "tests/support/fake_library/fake_library.h"
#include "tests/support/graph_file_builder.h"

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
  uint32_t Update(uint32_t x, uint32_t part) {
    const uint32_t y = file_.AddTensor("u", {4});
    file_.nodes.push_back({"test.update", {TensorArg(x), TensorArg(part)}, {y}, "u"});
    return y;
  }
  // The kernel name of each node in order, or "bytes" for a copy, and the state that it writes.
  std::vector<std::string> Nodes(Storage storage = Storage::kBuffer) {
    const std::vector<std::byte> bytes = file_.Write();
    const Result<Graph> graph = ParseGraph(bytes);
    if (!graph.ok()) return {graph.status().message()};
    const Result<Plan> plan = Compile(*graph, FakeIndex(), {}, {.storage = storage});
    if (!plan.ok()) return {plan.status().message()};
    std::vector<std::string> texts;
    for (const PlanNode& node : plan->nodes) {
      const uint32_t result = node.op == nullptr ? node.operands[1][0] : node.outputs[0];
      if (node.op == nullptr && plan->HaveSameAddress(node.operands[0][0], result)) continue;
      const int32_t state = plan->tensors[plan->Root(result)].state;
      texts.push_back(node.op == nullptr ? "bytes" : node.kernel->name);
      if (state >= 0) texts.back() += " to " + plan->tensors[plan->Root(result)].name;
    }
    return texts;
  }

  FileGraph file_;
};

TEST_F(StatesTest, ANodeDoesNotReadAndWriteTheSameState) {
  const uint32_t s = State("s");
  file_.states[0].update = Add(s, s);
  EXPECT_THAT(Nodes(), ElementsAre("add", "bytes to s"));
}

TEST_F(StatesTest, AnUpdateIsWrittenToTheStateAfterItsLastRead) {
  const uint32_t s = State("s");
  const uint32_t sum = Add(s, s);
  file_.states[0].update = Add(sum, sum);
  EXPECT_THAT(Nodes(), ElementsAre("add", "add to s"));
}

TEST_F(StatesTest, AStateThatIsReadLaterIsUpdatedAtTheEnd) {
  const uint32_t s = State("s");
  const uint32_t sum = Add(s, s);
  const uint32_t update = Add(sum, sum);
  file_.outputs = {Add(update, s)};
  file_.tensors[file_.outputs[0]].name = "y";
  file_.states[0].update = update;
  EXPECT_THAT(Nodes(), ElementsAre("add", "add", "add", "bytes to s"));
}

TEST_F(StatesTest, OutputsHaveTheValueBeforeTheUpdate) {
  const uint32_t s = State("s");
  file_.states[0].update = Add(Add(s, s), s);
  file_.tensors[file_.states[0].update].name = "y";
  file_.outputs = {s, file_.states[0].update};
  EXPECT_THAT(Nodes(), ElementsAre("add", "add", "bytes", "bytes to s"));
}

TEST_F(StatesTest, StatesArePermuted) {
  const uint32_t a = State("a"), b = State("b"), c = State("c");
  file_.states[0].update = b;
  file_.states[1].update = c;
  file_.states[2].update = a;
  EXPECT_THAT(Nodes(), ElementsAre("bytes", "bytes to b", "bytes to c", "bytes to a"));
}

TEST_F(StatesTest, OneTensorUpdatesTwoStates) {
  const uint32_t a = State("a");
  State("b");
  const uint32_t sum = Add(a, a);
  file_.states[0].update = file_.states[1].update = Add(sum, sum);
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

TEST_F(StatesTest, UnchangedStatesRequireNoCopy) {
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

TEST_F(StatesTest, ConcatenatedUpdatesAliasTheState) {
  const uint32_t s = State("s");
  file_.tensors[s].shape = {8};
  const uint32_t x = file_.AddTensor("x", {4});
  file_.inputs = {x};
  const uint32_t result = file_.AddTensor("result", {8});
  const uint32_t a = Add(x, x), b = Add(a, x);  // the offset of b is misaligned
  file_.nodes.push_back({"test.concat", {TensorsArg({a, b})}, {result}, "j"});
  file_.states[0].update = result;
  EXPECT_THAT(Nodes(), ElementsAre("add to s", "add", "concat to s"));
}

TEST_F(StatesTest, TheFirstNodeUpdatesAStateInPlace) {
  const uint32_t s = State("s");
  const uint32_t x = file_.AddTensor("x", {4});
  file_.inputs = {x};
  file_.states[0].update = Update(s, x);
  EXPECT_THAT(Nodes(), ElementsAre("update to s"));
}

TEST_F(StatesTest, ATensorWithLaterUsesIsCopied) {
  const uint32_t x = file_.AddTensor("x", {4});
  file_.inputs = {x};
  const uint32_t t = Add(x, x);
  const uint32_t first = Update(t, x);
  file_.outputs = {Add(first, t)};
  EXPECT_THAT(Nodes(), ElementsAre("add", "bytes", "update", "add"));
  const uint32_t second = Update(t, first);
  file_.outputs = {Add(first, second)};
  EXPECT_THAT(Nodes(), ElementsAre("add", "bytes", "update", "update", "add"));
}

TEST_F(StatesTest, AnOperatorUpdatesAStateInPlace) {
  const uint32_t s = State("s");
  const uint32_t before = Add(s, s);  // reads the value before the update
  const uint32_t first = Update(s, before);
  const uint32_t between = Add(first, before);
  const uint32_t second = Update(first, between);
  file_.outputs = {Add(second, second)};
  file_.tensors[file_.outputs[0]].name = "y";
  file_.states[0].update = second;
  EXPECT_THAT(Nodes(), ElementsAre("add", "update to s", "add", "update to s", "add"));
}

TEST_F(StatesTest, AValueThatIsReadAfterTheUpdateIsCopied) {
  const uint32_t s = State("s");
  const uint32_t x = Add(s, s);
  const uint32_t updated = Update(s, x);
  file_.states[0].update = updated;
  file_.outputs = {Add(updated, s)};
  file_.tensors[file_.outputs[0]].name = "y";
  EXPECT_THAT(Nodes(), ElementsAre("add", "bytes", "update", "add", "bytes to s"));
}

TEST_F(StatesTest, AnUpdateThatReadsItsTargetUsesACopy) {
  const uint32_t s = State("s");
  file_.states[0].update = Update(s, s);
  EXPECT_THAT(Nodes(), ElementsAre("bytes", "update", "bytes to s"));
}

TEST_F(StatesTest, AnUnchangedStateIsNotUpdatedInPlace) {
  const uint32_t s = State("s");
  const uint32_t x = Add(s, s);
  file_.outputs = {Update(s, x)};
  file_.tensors[file_.outputs[0]].name = "y";
  EXPECT_THAT(Nodes(), ElementsAre("add", "bytes", "update"));
}

TEST_F(StatesTest, AnUpdateOfOneStateIsAssignedToAnother) {
  const uint32_t a = State("a");
  const uint32_t b = State("b");
  const uint32_t x = Add(b, b);
  file_.states[1].update = Update(a, x);
  file_.states[0].update = Add(x, x);
  EXPECT_THAT(Nodes(), ElementsAre("add", "bytes to b", "update to b", "add to a"));
}

TEST_F(StatesTest, IntermediateTensorsAreUpdatedInPlace) {
  const uint32_t s = State("s");
  const uint32_t x = Add(s, s);
  const uint32_t sum = Add(x, x);
  file_.outputs = {Add(Update(sum, x), x)};
  file_.tensors[file_.outputs[0]].name = "y";
  EXPECT_THAT(Nodes(), ElementsAre("add", "add", "update", "add"));
}

TEST_F(StatesTest, InputsConstantsAndOutputsAreNotUpdatedInPlace) {
  const uint32_t x = file_.AddTensor("x", {4});
  file_.inputs = {x};
  const uint32_t w = file_.AddConstant<float>("w", {4}, 0, {1, 2, 3, 4});
  const uint32_t sum = Add(x, w);
  file_.tensors[sum].name = "sum";
  file_.outputs = {Add(Update(x, w), Update(w, w)), sum, Add(Update(sum, x), x)};
  for (uint32_t output : {file_.outputs[0], file_.outputs[2]}) {
    file_.tensors[output].name = "y" + std::to_string(output);
  }
  EXPECT_THAT(Nodes(), ElementsAre("add", "bytes", "update", "bytes", "update", "add", "bytes",
                                   "update", "add"));
}

TEST_F(StatesTest, ASliceOfAStateIsCopiedBeforeItsUpdate) {
  const uint32_t s = State("s");
  file_.tensors[s].shape = {8};
  const uint32_t part = file_.AddTensor("part", {4});
  file_.nodes.push_back(
      {"test.slice", {TensorArg(s), IntArg(4), IntArg(4), IntArg(1)}, {part}, "p"});
  const uint32_t x = Add(part, part);
  file_.outputs = {Update(part, x)};
  file_.tensors[file_.outputs[0]].name = "y";
  EXPECT_THAT(Nodes(), ::testing::Not(::testing::Contains(HasSubstr("to s"))));
}

TEST_F(StatesTest, AViewOfAStateIsUpdatedInPlace) {
  const uint32_t s = State("s");
  const uint32_t x = Add(s, s);
  const uint32_t view = file_.AddTensor("view", {4});
  file_.nodes.push_back({"test.view", {TensorArg(s), IntsArg({4})}, {view}, "v"});
  const uint32_t updated = Update(view, x);
  const uint32_t reshaped = file_.AddTensor("reshaped", {4});
  file_.nodes.push_back({"test.view", {TensorArg(updated), IntsArg({4})}, {reshaped}, "v"});
  file_.states[0].update = reshaped;
  EXPECT_THAT(Nodes(), ElementsAre("add", "update to s"));
}

TEST_F(StatesTest, RejectsAnUpdateOfAnotherType) {
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
