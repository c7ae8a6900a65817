#include "runtime/graph/plan/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/plan/verify_plan.h"
#include "tests/runtime/graph/plan/lowering_fixture.h"

namespace spirloom::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// y = x + x, of which z = x + y is not used.
FileGraph WithDeadNode() {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Add(x, x, {2, 3});
  b.Add(x, y, {2, 3});
  b.file.outputs = {y};
  return b.file;
}

// Compiles the graph and returns the plan after each pass.
std::vector<std::pair<std::string, Plan>> PlansOf(const FileGraph& file,
                                                  const DeviceTraits& device = {}) {
  const std::vector<std::byte> bytes = file.Write();
  const Graph graph = ValueOf(ParseGraph(bytes));
  std::vector<std::pair<std::string, Plan>> plans;
  CompileOptions options;
  options.after_pass = [&](std::string_view pass, const Plan& plan) {
    plans.emplace_back(pass, plan);
  };
  EXPECT_TRUE(Compile(graph, FakeIndex(), device, options).ok());
  return plans;
}

TEST(Compile, RunsNamedPassesInOrder) {
  std::vector<std::string> run;
  for (const auto& [pass, plan] : PlansOf(WithDeadNode())) run.push_back(pass);
  std::vector<std::string> listed;
  for (const PassInfo& pass : Passes()) listed.emplace_back(pass.name);
  EXPECT_EQ(run, listed);
  EXPECT_THAT(listed, ElementsAre("infer", "select-kernels", "remove-dead-nodes", "elide-concats",
                                  "update-in-place"));
}

TEST(Compile, EachPassShowsItsResult) {
  const auto plans = PlansOf(WithDeadNode());
  ASSERT_EQ(plans.size(), Passes().size());
  EXPECT_THAT(plans[0].second.nodes, IsEmpty());
  EXPECT_EQ(plans[0].second.tensors.size(), 3u);
  EXPECT_THAT(NodesOf(plans[1].second), ElementsAre("add@buffer", "add@buffer"));
  EXPECT_THAT(NodesOf(plans[2].second), ElementsAre("add@buffer"));
}

TEST(VerifyPlan, AcceptsThePlanAfterEachPass) {
  for (const auto& [pass, plan] : PlansOf(WithDeadNode())) {
    EXPECT_TRUE(VerifyPlan(plan, {}).ok()) << pass;
  }
}

// The message of VerifyPlan() for a compiled plan with a change.
template <typename Change>
std::string MessageAfter(const FileGraph& file, Change&& change, const DeviceTraits& device = {}) {
  Plan plan = PlansOf(file).back().second;
  change(plan);
  return VerifyPlan(plan, device).message();
}

TEST(VerifyPlan, NamesTheViolatedInvariant) {
  const auto broken = [](auto&& change) { return MessageAfter(WithDeadNode(), change); };
  EXPECT_THAT(broken([](Plan& plan) { plan.tensors[0].size = 4; }), HasSubstr("its shape (0)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.tensors[0].desc.storage = Storage::kAuto; }),
              HasSubstr("a tensor has no storage (0)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.tensors[1].alias_of = 9; }),
              HasSubstr("an alias has no root (1)"));
  EXPECT_THAT(broken([](Plan& plan) {
                plan.tensors[1].alias_of = 0;
                plan.tensors[1].alias_offset = 4;
              }),
              HasSubstr("an alias exceeds its root (1)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.nodes[0].kernel = nullptr; }),
              HasSubstr("a call has no kernel (0)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.nodes[0].operands[0] = {2}; }),
              HasSubstr("a node reads unwritten data (0)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.outputs.push_back(plan.outputs[0]); }),
              HasSubstr("outputs share memory"));
  EXPECT_THAT(broken([](Plan& plan) { plan.states = {plan.outputs[0]}; }),
              HasSubstr("a state shares memory"));
  EXPECT_THAT(broken([](Plan& plan) {
                plan.tensors[0].desc.shape = {-2, -3};
              }),
              HasSubstr("a dimension of a tensor is negative (0)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.nodes[0].operands[0] = {3}; }),
              HasSubstr("a node has no operand (0)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.nodes[0].outputs = {3}; }),
              HasSubstr("a node has no output (0)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.nodes[0].operands.pop_back(); }),
              HasSubstr("an operand of a kernel is not bound (0)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.inputs = {3}; }), HasSubstr("an input is not a tensor"));
  EXPECT_THAT(broken([](Plan& plan) { plan.outputs = {3}; }),
              HasSubstr("an output is not a tensor (3)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.states = {3}; }),
              HasSubstr("a state is not a root (3)"));
  EXPECT_THAT(broken([](Plan& plan) {
                plan.tensors[0].alias_of = 2;
                plan.states = {0};
              }),
              HasSubstr("a state is not a root (0)"));
  EXPECT_THAT(broken([](Plan& plan) { plan.outputs = {2}; }),
              HasSubstr("an output is not computed (2)"));
}

// Without a buffer, nothing is written.
TEST(VerifyPlan, AcceptsEmptyTensors) {
  for (const bool is_alias : {false, true}) {
    const auto empty = [&](Plan& plan) {
      PlanTensor& unused = plan.tensors[2];
      unused.desc.shape = {0};
      unused.size = 0;
      unused.alias_of = is_alias ? 0 : kNoTensor;
      unused.alias_offset = is_alias ? plan.tensors[0].size : 0;
      plan.nodes[0].operands[0] = {2};
      plan.outputs.push_back(2);
    };
    EXPECT_EQ(MessageAfter(WithDeadNode(), empty), "");
  }
}

TEST(VerifyPlan, ChecksCopies) {
  FileGraph file;
  file.inputs = {file.AddTensor("x", {4})};
  file.states = {{file.AddTensor("s", {4}), file.inputs[0]}};
  const auto broken = [&](std::vector<std::vector<uint32_t>> operands) {
    return MessageAfter(file, [&](Plan& plan) { plan.nodes.back().operands = operands; });
  };
  EXPECT_EQ(broken({{0}, {1}}), "");
  for (const auto& operands : std::vector<std::vector<std::vector<uint32_t>>>{
           {{0}}, {{0, 0}, {1}}, {{0}, {1, 1}}, {{}, {1}}, {{0}, {}}, {{0}, {1}, {1}}}) {
    EXPECT_THAT(broken(operands), HasSubstr("a copy has no source or target (0)"));
  }
}

TEST(VerifyPlan, AcceptsReadsOfStatesConstantsAndAbsentOperands) {
  FileGraph file;
  const uint32_t s = file.AddTensor("s", {4});
  const uint32_t y = file.AddTensor("y", {4});
  file.nodes = {{"test.optional", {TensorArg(s), NoneArg()}, {y}, "y"}};
  const uint32_t w = file.AddConstant<float>("w", {4}, 0, {1, 2, 3, 4});
  const uint32_t z = file.AddTensor("z", {4});
  file.nodes.push_back({"test.add", {TensorArg(y), TensorArg(w)}, {z}, "z"});
  file.states = {{s, s}};
  file.outputs = {z};
  EXPECT_EQ(MessageAfter(file, [](Plan&) {}), "");
}

TEST(VerifyPlan, ChecksTexturesAgainstTheDevice) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  b.file.outputs = {b.Add(b.Add(x, x, {2, 3}, kTexture3D), x, {2, 3}, kTexture3D)};
  DeviceTraits small;
  small.texture3d.width = 2;
  EXPECT_EQ(MessageAfter(b.file, [](Plan&) {}), "");
  EXPECT_THAT(MessageAfter(
                  b.file, [](Plan&) {}, small),
              HasSubstr("a texture exceeds the device"));
  EXPECT_EQ(MessageAfter(
                WithDeadNode(), [](Plan&) {}, small),
            "")
      << "buffers";
}

}  // namespace
}  // namespace spirloom::graph
