// Repeated runs in one submission, each with the states of the previous run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::IntArg;
using graph::TensorArg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Greedy decoding: the next token is the argmax of a row of a table, and is appended to `tokens`.
FileGraph Decoding() {
  FileGraph file;
  constexpr uint64_t kTokens = 5;
  Floats scores(kTokens * kTokens);
  for (size_t i = 0; i < kTokens; ++i) scores[i * kTokens + (2 * i + 1) % kTokens] = 1;
  const uint32_t table = file.AddConstant<float>("table", {kTokens, kTokens}, 0, scores);
  const uint32_t one = file.AddConstant<int32_t>("one", {1}, 2, {1});
  const auto add_ints = [&](const std::string& op, std::vector<graph::Arg> args,
                            std::vector<uint64_t> shape) {
    const uint32_t y = AddNode(file, op, std::move(args), std::move(shape));
    file.tensors[y].dtype = 2;
    return y;
  };
  const uint32_t token = file.AddTensor("token", {1}, 2),
                 position = file.AddTensor("position", {1}, 2);
  const uint32_t tokens = file.AddTensor("tokens", {16}, 2);
  file.states = {{token, token}, {position, position}, {tokens, tokens}};
  const uint32_t row =
      AddNode(file, "aten.index_select", {TensorArg(table), IntArg(0), TensorArg(token)}, {1, 5});
  file.states[0].update =
      add_ints("aten.argmax", {TensorArg(row), graph::IntsArg({1}), graph::BoolArg(false)}, {1});
  file.states[1].update = add_ints("aten.add.Tensor", AddArgs(position, one), {1});
  file.states[2].update = add_ints("spirloom.cache_update",
                                   {TensorArg(tokens), TensorArg(file.states[0].update),
                                    TensorArg(position), IntArg(0), graph::BoolArg(false)},
                                   {16});
  return file;
}

TEST_F(ModelTest, RepeatedRunsAreExecutedInOrderOnTheDevice) {
  Model model = ValueOf(Load(Decoding()));
  ASSERT_TRUE(ValueOf(model.SubmitRepeated(1)).Wait().ok());
  const uint64_t recordings = Counters().recordings, submits = Counters().submits;
  const uint64_t allocations = Counters().memory_allocations;
  const uint64_t updates = Counters().descriptor_updates;
  ASSERT_TRUE(ValueOf(model.SubmitRepeated(11)).Wait().ok());
  ASSERT_TRUE(model.Run().ok());
  EXPECT_EQ(Counters().recordings, recordings);
  EXPECT_EQ(Counters().descriptor_updates, updates);
  EXPECT_EQ(Counters().memory_allocations, allocations);
  EXPECT_EQ(Counters().submits, submits + 2);
  std::vector<int32_t> tokens(16);
  ASSERT_TRUE(model.ReadState(2, std::as_writable_bytes(std::span(tokens))).ok());
  EXPECT_THAT(tokens, ElementsAre(1, 3, 2, 0, 1, 3, 2, 0, 1, 3, 2, 0, 1, 0, 0, 0));
}

TEST_F(ModelTest, RejectsRepeatedRunsWithoutStatesOrSteps) {
  Model model = ValueOf(Load(Decoding()));
  EXPECT_THAT(model.SubmitRepeated(0).status().message(),
              HasSubstr("Number of steps is 0; expected 1 to 65536."));
  EXPECT_THAT(model.SubmitRepeated(65537).status().message(), HasSubstr("expected 1 to 65536"));
  Model small = ValueOf(Load(SmallGraph()));
  EXPECT_THAT(small.SubmitRepeated(2).status().message(),
              HasSubstr("requires a model with states"));
}

}  // namespace
}  // namespace spirloom
