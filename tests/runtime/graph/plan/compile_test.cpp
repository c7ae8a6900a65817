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

TEST(VerifyPlan, NamesTheViolatedInvariant) {
  const auto broken = [](auto&& change) {
    Plan plan = PlansOf(WithDeadNode()).back().second;
    change(plan);
    return VerifyPlan(plan, {}).message();
  };
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
}

}  // namespace
}  // namespace spirloom::graph
