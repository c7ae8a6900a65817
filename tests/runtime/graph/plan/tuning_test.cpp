// Planning for the autotuner: the text of calls, graphs of single calls, and autotuned kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/call_graph.h"
#include "runtime/graph/plan/call_text.h"
#include "runtime/graph/plan/compile.h"
#include "tests/support/fake_library/fake_library.h"
#include "tests/support/graph_file_builder.h"
#include "tests/value_of.h"

namespace spirloom::graph {
namespace {

using ::spirloom::testing::FakeIndex;
using ::testing::ElementsAre;

constexpr const char* kSumText = "test.sum(f32[2,3]) in buffer";

// y = sum(x), z = linear(y, w) with a constant w.
class TuningTest : public ::testing::Test {
 protected:
  TuningTest() {
    FileGraph file;
    const uint32_t x = file.AddTensor("x", {2, 3});
    const uint32_t w = file.AddConstant<float>("w", {3}, 0, {1, 2, 3});
    const uint32_t y = file.AddTensor("y", {2, 3});
    const uint32_t z = file.AddTensor("z", {2, 3});
    file.inputs = {x};
    file.outputs = {z};
    file.nodes.push_back({"test.sum", {TensorArg(x)}, {y}, "sum"});
    file.nodes.push_back({"test.linear", {TensorArg(y), TensorArg(w)}, {z}, "linear"});
    bytes_ = file.Write();
  }

  Plan LowerWith(const CompileOptions& options) const {
    const Graph graph = ValueOf(ParseGraph(bytes_));
    return ValueOf(Compile(graph, FakeIndex(), DeviceTraits(), options));
  }

  static std::vector<std::string> KernelsOf(const Plan& plan) {
    std::vector<std::string> kernels;
    for (const PlanNode& node : plan.nodes) kernels.emplace_back(node.kernel->name);
    return kernels;
  }

  static std::string TextOf(const Plan& plan, const PlanNode& node) {
    return CallText(*node.op->op, node.args, plan.tensors, node.storage);
  }

  std::vector<std::byte> bytes_;
};

TEST_F(TuningTest, CallsHaveText) {
  const Plan plan = LowerWith({});
  std::vector<std::string> texts;
  for (const PlanNode& node : plan.nodes) texts.push_back(TextOf(plan, node));
  EXPECT_THAT(texts, ElementsAre(kSumText, "test.pack(const f32[3]) in buffer",
                                 "test.linear(f32[2,3], const f32[3]) in buffer"));
}

TEST(CallText, ContainsArgumentsOfAllKinds) {
  ops::OpInfo op;
  op.name = "o";
  std::deque<PlanTensor> tensors(2);
  tensors[1].desc.dtype = DType::kI8;
  tensors[1].desc.shape = {4};
  const std::vector<Arg> args{
      NoneArg(),     TensorsArg({0, 1}), IntArg(-2),   BoolArg(true),
      FloatArg(0.1), IntsArg({3, -4}),   TensorArg(1), StringArg("a\"\t\n\xff b\\")};
  EXPECT_EQ(CallText(op, args, tensors, Storage::kTexture2D),
            "o(none, [f32[], i8[4]], -2, 1, 0.1, [3,-4], i8[4], "
            "\"a\\22\\09\\0a\\ff b\\5c\") in texture2d");
}

TEST_F(TuningTest, UsesTheTunedKernelUnlessAKernelIsSelected) {
  EXPECT_THAT(KernelsOf(LowerWith({})), ElementsAre("sum", "pack", "linear"));
  const auto tuned =
      std::make_shared<const session::TunedKernels>(session::TunedKernels{{kSumText, "sum_sg32"}});
  EXPECT_THAT(KernelsOf(LowerWith({.tuned = tuned})), ElementsAre("sum_sg32", "pack", "linear"));
  EXPECT_THAT(KernelsOf(LowerWith({.kernels = {"sum"}, .tuned = tuned})),
              ElementsAre("sum", "pack", "linear"));
  EXPECT_THAT(KernelsOf(LowerWith({.kernels = {"no_such"}, .tuned = tuned})),
              ElementsAre("sum_sg32", "pack", "linear"));
}

TEST_F(TuningTest, UnknownKernelsAndCallsAreIgnored) {
  const std::vector<session::TunedKernels> all{{{kSumText, "no_such"}},
                                               {{kSumText, ""}},
                                               {{kSumText, "linear"}},
                                               {{"unknown call", "sum_sg32"}}};
  for (const session::TunedKernels& tuned : all) {
    EXPECT_THAT(
        KernelsOf(LowerWith({.tuned = std::make_shared<const session::TunedKernels>(tuned)})),
        ElementsAre("sum", "pack", "linear"))
        << tuned.begin()->first << ": " << tuned.begin()->second;
  }
}

TEST_F(TuningTest, TheGraphOfASingleCallContainsTheSameCall) {
  for (Storage storage : {Storage::kBuffer, Storage::kTexture3D}) {
    const Plan plan = LowerWith({.storage = storage});
    for (const PlanNode& source : plan.nodes) {
      if (source.is_constant || source.op->op->name == std::string("spirloom.copy")) continue;
      const CallGraph call = MakeCallGraph(plan, source);
      Result<Plan> own = Compile(call.graph, FakeIndex(), DeviceTraits(), {});
      ASSERT_TRUE(own.ok()) << own.status().message();
      std::vector<std::string> texts;
      for (const PlanNode& node : own->nodes) {
        if (node.name == kCallName && !node.is_constant) texts.push_back(TextOf(*own, node));
      }
      EXPECT_THAT(texts, ElementsAre(TextOf(plan, source)));
    }
  }
}

}  // namespace
}  // namespace spirloom::graph
