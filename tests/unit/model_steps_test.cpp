// Several runs in one submission, each of what the one before it left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::IntArg;
using graph::TensorArg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A token's successor by a table of scores, and the tokens so far: what greedy decoding does.
FileGraph Decoding() {
  FileGraph file;
  constexpr uint64_t kTokens = 5;
  Floats scores(kTokens * kTokens);
  for (size_t i = 0; i < kTokens; ++i) scores[i * kTokens + (2 * i + 1) % kTokens] = 1;
  const uint32_t table = file.AddConstant<float>("table", {kTokens, kTokens}, 0, scores);
  const uint32_t one = file.AddConstant<int32_t>("one", {1}, 2, {1});
  const auto add_ints = [&](const std::string& op, std::vector<graph::Arg> args,
                            std::vector<uint64_t> shape) {
    const uint32_t made = AddNode(file, op, std::move(args), std::move(shape));
    file.tensors[made].dtype = 2;
    return made;
  };
  const uint32_t token = file.AddTensor("token", {1}, 2), at = file.AddTensor("at", {1}, 2);
  const uint32_t tokens = file.AddTensor("tokens", {16}, 2);
  file.states = {{token, token}, {at, at}, {tokens, tokens}};
  const uint32_t row =
      AddNode(file, "aten.index_select", {TensorArg(table), IntArg(0), TensorArg(token)}, {1, 5});
  file.states[0].update =
      add_ints("aten.argmax", {TensorArg(row), graph::IntsArg({1}), graph::BoolArg(false)}, {1});
  file.states[1].update = add_ints("aten.add.Tensor", AddArgs(at, one), {1});
  file.states[2].update = add_ints("spirloom.cache_update",
                                   {TensorArg(tokens), TensorArg(file.states[0].update),
                                    TensorArg(at), IntArg(0), graph::BoolArg(false)},
                                   {16});
  return file;
}

TEST_F(ModelTest, StepsFollowOneAnotherOnTheDevice) {
  Model model = ValueOf(Load(Decoding()));
  ASSERT_TRUE(ValueOf(model.SubmitSteps(1)).Wait().ok());
  const uint64_t recordings = Counters().recordings, submits = Counters().submits;
  const uint64_t allocations = Counters().memory_allocations;
  const uint64_t updates = Counters().descriptor_updates;
  ASSERT_TRUE(ValueOf(model.SubmitSteps(11)).Wait().ok());
  ASSERT_TRUE(model.Run().ok());
  EXPECT_EQ(Counters().recordings, recordings);
  EXPECT_EQ(Counters().descriptor_updates, updates);
  EXPECT_EQ(Counters().memory_allocations, allocations);
  EXPECT_EQ(Counters().submits, submits + 2);
  std::vector<int32_t> tokens(16);
  ASSERT_TRUE(model.ReadState(2, std::as_writable_bytes(std::span(tokens))).ok());
  EXPECT_THAT(tokens, ElementsAre(1, 3, 2, 0, 1, 3, 2, 0, 1, 3, 2, 0, 1, 0, 0, 0));
}

TEST_F(ModelTest, RefusesStepsThatGoNowhere) {
  Model model = ValueOf(Load(Decoding()));
  EXPECT_THAT(model.SubmitSteps(0).status().message(), HasSubstr("Number of steps (0)"));
  EXPECT_THAT(model.SubmitSteps(65537).status().message(), HasSubstr("not within 1 and 65536"));
  Model small = ValueOf(Load(SmallGraph()));
  EXPECT_THAT(small.SubmitSteps(2).status().message(), HasSubstr("The model has no states"));
}

}  // namespace
}  // namespace spirloom
