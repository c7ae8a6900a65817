// States of models and their contexts in the C API, on the default device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/c_api/c_model_fixture.h"

namespace spirloom::c {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using CStateTest = CModelTest;

// total += x, both of shape [2]; initially [1, 2].
graph::FileGraph StatefulGraph() {
  graph::FileGraph graph;
  const uint32_t x = AddInput(graph, "x", {2});
  graph.AddConstant<float>("start", {2}, 0, {1, 2});
  const uint32_t total = graph.AddTensor("total", {2});
  graph.outputs = {AddNode(graph, "aten.add.Tensor", AddArgs(total, x), {2})};
  graph.states = {{total, graph.outputs[0], 0}};
  return graph;
}

TEST_F(CStateTest, StatesPersistBetweenRuns) {
  EXPECT_EQ(spirloom_model_state_count(nullptr), 0u);
  OwnedModel model = Load(StatefulGraph());
  ASSERT_EQ(spirloom_model_state_count(model.get()), 1u);
  spirloom_tensor_info info = SPIRLOOM_INIT(spirloom_tensor_info);
  ASSERT_EQ(Call(spirloom_model_state, model.get(), 0u, &info).message, "");
  EXPECT_STREQ(info.name, "total");
  EXPECT_EQ(info.size, 8u);
  ASSERT_EQ(info.rank, 1u);
  EXPECT_STREQ(info.dims[0], "2");
  EXPECT_THAT(Call(spirloom_model_state, model.get(), 1u, &info).message, HasSubstr("states"));
  const Floats x{1, 1};
  Floats y(2), state(2);
  const spirloom_const_bytes in = In(x);
  const spirloom_bytes out = Out(y), kept = Out(state);
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(Call(spirloom_model_run, model.get(), &in, 1u, &out, 1u).message, "");
  }
  EXPECT_THAT(y, ElementsAre(3, 4));
  ASSERT_EQ(Call(spirloom_model_read_state, model.get(), 0u, &kept).message, "");
  EXPECT_THAT(state, ElementsAre(3, 4));
  ASSERT_EQ(Call(spirloom_model_reset_states, model.get()).message, "");
  ASSERT_EQ(Call(spirloom_model_read_state, model.get(), 0u, &kept).message, "");
  EXPECT_THAT(state, ElementsAre(1, 2));
  ASSERT_EQ(Call(spirloom_model_write_state, model.get(), 0u, &in).message, "");
  ASSERT_EQ(Call(spirloom_model_run, model.get(), &in, 1u, &out, 1u).message, "");
  EXPECT_THAT(y, ElementsAre(2, 2));
  float last = 0;
  const spirloom_bytes range{&last, sizeof(last)};
  ASSERT_EQ(Call(spirloom_model_read_state_range, model.get(), 0u, 4u, &range).message, "");
  EXPECT_EQ(last, 2);
  EXPECT_THAT(Call(spirloom_model_read_state_range, model.get(), 0u, 5u, &range).message,
              HasSubstr("Range of 4 bytes from byte 5 on exceeds state 'total' of 8 bytes."));
  const spirloom_bytes nothing{nullptr, 8};
  EXPECT_NE(Call(spirloom_model_read_state, model.get(), 0u, &nothing).message, "");
  spirloom_load_stats stats = SPIRLOOM_INIT(spirloom_load_stats);
  ASSERT_EQ(Call(spirloom_model_stats, model.get(), &stats).message, "");
  EXPECT_GE(stats.state_bytes, 8u);

  spirloom_model* created = nullptr;
  EXPECT_THAT(Call(spirloom_context_create, nullptr, nullptr, &created).message,
              HasSubstr("`model` of spirloom_context_create() is NULL"));
  spirloom_context_options options = SPIRLOOM_INIT(spirloom_context_options);
  options.method = "none";
  EXPECT_THAT(Call(spirloom_context_create, model.get(), &options, &created).message,
              HasSubstr("The file has no method 'none', only one without a name."));
  EXPECT_EQ(created, nullptr);
  ASSERT_EQ(Call(spirloom_context_create, model.get(), nullptr, &created).message, "");
  const OwnedModel separate(created);
  options.method = nullptr;
  options.share_states = 1;
  ASSERT_EQ(Call(spirloom_context_create, model.get(), &options, &created).message, "");
  const OwnedModel sharing(created);
  ASSERT_EQ(Call(spirloom_model_write_state, model.get(), 0u, &in).message, "");
  ASSERT_EQ(Call(spirloom_model_read_state, sharing.get(), 0u, &kept).message, "");
  EXPECT_THAT(state, ElementsAre(1, 1));
  ASSERT_EQ(Call(spirloom_model_read_state, separate.get(), 0u, &kept).message, "");
  EXPECT_THAT(state, ElementsAre(1, 2));
}

}  // namespace
}  // namespace spirloom::c
