#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/plan/compile.h"
#include "runtime/graph/plan/limits.h"
#include "tests/runtime/graph/plan/lowering_fixture.h"

namespace spirloom::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Lowering, BuffersNeedNoCopies) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Add(x, x, {2, 3});
  b.file.outputs = {b.Add(y, x, {2, 3})};
  Result<Plan> plan = LowerFile(b.file);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(NodesOf(*plan), ElementsAre("add@buffer", "add@buffer"));
  EXPECT_EQ(plan->tensors[plan->outputs[0]].output, 0);
  EXPECT_EQ(plan->layout_copies, 0u);
}

TEST(Lowering, SelectedKernelsPrecedePreferredKernels) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  b.file.outputs = {b.Call("test.sum", {TensorArg(x)}, {2, 3})};
  DeviceTraits subgroup32;
  subgroup32.properties.subgroup_size = 32;
  const auto nodes = [&](const DeviceTraits& device, const std::vector<std::string>& kernels) {
    Result<Plan> plan = LowerFile(b.file, Storage::kAuto, device, kernels);
    return plan.ok() ? NodesOf(*plan) : std::vector{plan.status().message()};
  };
  EXPECT_THAT(nodes({}, {}), ElementsAre("sum@buffer"));
  EXPECT_THAT(nodes(subgroup32, {}), ElementsAre("sum_sg32@buffer"));
  EXPECT_THAT(nodes({}, {"sum_sg32"}), ElementsAre("sum_sg32@buffer"));
  EXPECT_THAT(nodes(subgroup32, {"no_such", "sum"}), ElementsAre("sum@buffer"));
}

TEST(Lowering, ReportsTheConsideredKernels) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  b.file.outputs = {b.Call("test.sum", {TensorArg(x)}, {2, 3})};
  const std::vector<std::byte> bytes = b.file.Write();
  const Graph graph = ValueOf(ParseGraph(bytes));
  std::vector<CallTrials> trials;
  CompileOptions options;
  options.trials = &trials;
  const auto considered = [&](const DeviceTraits& device) {
    trials.clear();
    EXPECT_TRUE(Compile(graph, ::spirloom::testing::FakeIndex(), device, options).ok());
    std::vector<std::string> names;
    for (const KernelTrial& trial : trials.at(0).trials) {
      names.push_back(std::string(trial.kernel->name) + (trial.preferred ? " preferred" : ""));
    }
    EXPECT_EQ(trials.at(0).op, "test.sum");
    EXPECT_EQ(trials.at(0).chosen, trials.at(0).trials.back().kernel);
    return names;
  };
  EXPECT_THAT(considered({}), ElementsAre("sum_sg32", "sum preferred"));
  DeviceTraits subgroup32;
  subgroup32.properties.subgroup_size = 32;
  EXPECT_THAT(considered(subgroup32), ElementsAre("sum_sg32 preferred"));
}

TEST(Lowering, LoopsFitTheDevice) {
  DeviceTraits device;
  device.max_workgroup_invocations = device.max_workgroup[0] = 256;
  const auto nodes = [&device](uint64_t size, Storage storage = Storage::kBuffer) {
    Builder b;
    const uint32_t x = b.Input("x", {size});
    b.file.outputs = {b.Call("test.scan", {TensorArg(x)}, {size})};
    Result<Plan> plan = LowerFile(b.file, storage, device);
    return plan.ok() ? NodesOf(*plan) : std::vector{plan.status().message()};
  };
  EXPECT_THAT(nodes(1000), ElementsAre("scan@buffer"));
  device.properties.max_loop_iterations = 200;
  EXPECT_THAT(nodes(100), ElementsAre("scan_wg64@buffer"));  // preferred
  EXPECT_THAT(nodes(200), ElementsAre("scan@buffer"));
  EXPECT_THAT(nodes(201), ElementsAre("scan_wg64@buffer"));
  // 64 * 199 elements need 200 iterations.
  EXPECT_THAT(nodes(64 * 199), ElementsAre("scan_wg64@buffer"));
  EXPECT_THAT(nodes(64 * 199 + 1), ElementsAre("scan_wg256@buffer"));
  EXPECT_THAT(
      nodes(256 * 200 + 1),
      ElementsAre(HasSubstr("The loops of test.scan need 201 iterations for this call; this "
                            "device's driver ends an invocation's loops after 200.")));
  // Textures need more iterations.
  EXPECT_THAT(nodes(50, Storage::kTexture3D),
              ElementsAre("copy@buffer", "scan@texture3d", "copy@texture3d"));
  EXPECT_THAT(nodes(51, Storage::kTexture3D), ElementsAre("scan_wg64@buffer"));
}

TEST(Lowering, TexturesAreCopiedInAndOutOnce) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Add(x, x, {2, 3});
  b.file.outputs = {b.Add(y, x, {2, 3})};
  Result<Plan> plan = LowerFile(b.file, Storage::kTexture3D);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(NodesOf(*plan),
              ElementsAre("copy@buffer", "add@texture3d", "add@texture3d", "copy@texture3d"));
  EXPECT_EQ(plan->layout_copies, 2u);
}

TEST(Lowering, TheStorageOfATensorHasPrecedence) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Add(x, x, {2, 3}, kBuffer);
  b.file.outputs = {b.Add(y, y, {2, 3}, kTexture3D)};
  Result<Plan> plan = LowerFile(b.file, Storage::kTexture3D);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(NodesOf(*plan),
              ElementsAre("add@buffer", "copy@buffer", "add@texture3d", "copy@texture3d"));
}

TEST(Lowering, ACopyConvertsBetweenTextureTypes) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Add(x, x, {2, 3}, kTexture2D);
  b.file.outputs = {b.Add(y, y, {2, 3}, kTexture3D)};
  Result<Plan> plan = LowerFile(b.file, Storage::kBuffer);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(NodesOf(*plan), ElementsAre("copy@buffer", "add@texture2d", "copy@texture2d",
                                          "add@texture3d", "copy@texture3d"));
  EXPECT_EQ(plan->layout_copies, 3u);
}

TEST(Lowering, LayeredImagesSupportWiderTensors) {
  Builder b;
  const uint32_t wide = b.Input("wide", {257});
  b.file.outputs = {b.Add(wide, wide, {257})};
  Result<Plan> plan = LowerFile(b.file, Storage::kTexture2D);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(NodesOf(*plan), ElementsAre("copy@buffer", "add@texture2d", "copy@texture2d"));
}

TEST(Lowering, TensorsThatDoNotFitTexturesUseBuffers) {
  Builder b;
  const uint32_t rank5 = b.Input("rank5", {1, 1, 1, 2, 2});
  const uint32_t wide = b.Input("wide", {257});
  const uint32_t empty = b.Input("empty", {0, 4});
  b.file.outputs = {b.Add(rank5, rank5, {1, 1, 1, 2, 2}), b.Add(wide, wide, {257}),
                    b.Add(empty, empty, {0, 4})};
  Result<Plan> plan = LowerFile(b.file, Storage::kTexture3D);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(NodesOf(*plan), ElementsAre("add@buffer", "add@buffer", "add@buffer"));
}

TEST(Lowering, OpsWithoutTheStorageUseABuffer) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Add(x, x, {2, 3});
  b.file.outputs = {b.Call("test.sum", {TensorArg(y)}, {2, 3})};
  Result<Plan> plan = LowerFile(b.file, Storage::kTexture3D);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(NodesOf(*plan),
              ElementsAre("copy@buffer", "add@texture3d", "copy@texture3d", "sum@buffer"));
  EXPECT_EQ(plan->fallbacks, 1U);
  EXPECT_EQ(plan->first_fallback, "node 1 ('t2', test.sum) in a buffer, not in a texture3d");
  plan = LowerFile(b.file, Storage::kBuffer);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->fallbacks, 0U);
}

// E.g. the casts at the inputs and outputs of an f16 graph.
TEST(Lowering, KernelsForAllStoragesReplaceTheCopiesAtInputsAndOutputs) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const auto cast = [&](uint32_t t, int storage = 0) {
    return b.Call("test.cast", {TensorArg(t)}, {2, 3}, storage);
  };
  const uint32_t inside = cast(x);
  b.file.outputs = {cast(b.Add(inside, inside, {2, 3}))};
  Result<Plan> plan = LowerFile(b.file, Storage::kTexture3D);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(NodesOf(*plan), ElementsAre("cast@buffer", "add@texture3d", "cast@texture3d"));
  EXPECT_EQ(plan->layout_copies, 0u);
  EXPECT_EQ(plan->fallbacks, 0u);
  // An output with a texture storage is written to the texture first.
  b.file.outputs = {cast(b.Add(inside, inside, {2, 3}), kTexture2D)};
  plan = LowerFile(b.file, Storage::kTexture3D);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(NodesOf(*plan),
              ElementsAre("cast@buffer", "add@texture3d", "cast@texture3d", "copy@texture2d"));
}

TEST(Lowering, ViewsOfBuffersAlias) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Add(x, x, {2, 3});
  const uint32_t v = b.Call("test.view", {TensorArg(y), IntsArg({6})}, {6});
  const uint32_t w = b.Call("test.view", {TensorArg(v), IntsArg({3, 2})}, {3, 2});
  b.file.outputs = {b.Call("test.sum", {TensorArg(w)}, {3, 2})};
  Result<Plan> plan = LowerFile(b.file);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(NodesOf(*plan), ElementsAre("add@buffer", "sum@buffer"));
  EXPECT_EQ(plan->aliased_views, 2u);
  const uint32_t bound = plan->nodes[1].operands[0][0];
  EXPECT_EQ(plan->Root(bound), plan->nodes[0].outputs[0]);
}

TEST(Lowering, ViewsOfTexturesAliasWhenThePaddedShapesAgree) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Add(x, x, {2, 3});
  const uint32_t same = b.Call("test.view", {TensorArg(y), IntsArg({1, 1, 2, 3})}, {1, 1, 2, 3});
  const uint32_t other = b.Call("test.view", {TensorArg(y), IntsArg({6})}, {6});
  b.file.outputs = {b.Add(same, same, {1, 1, 2, 3}), b.Add(other, other, {6})};
  Result<Plan> plan = LowerFile(b.file, Storage::kTexture3D);
  ASSERT_TRUE(plan.ok());
  // `other` aliases a copy of y in a buffer, since the view's kernel has no texture3d.
  EXPECT_THAT(NodesOf(*plan),
              ElementsAre("copy@buffer", "add@texture3d", "copy@texture3d", "add@texture3d",
                          "copy@buffer", "add@texture3d", "copy@texture3d", "copy@texture3d"));
  EXPECT_EQ(plan->aliased_views, 2u);
}

// A view of another padded shape is computed, unless its source is also in a buffer.
TEST(Lowering, ViewsOfTexturesAreComputedOrAliasABufferCopy) {
  for (const bool is_in_buffer : {false, true}) {
    Builder b;
    const uint32_t x = b.Input("x", {2, 3});
    const uint32_t y = b.Add(x, x, {2, 3}, kTexture3D);
    b.file.outputs = {y};
    if (is_in_buffer) b.file.outputs.push_back(b.Call("test.sum", {TensorArg(y)}, {2, 3}, kBuffer));
    const uint32_t v = b.Call("test.reshape", {TensorArg(y), IntsArg({6})}, {6}, kTexture3D);
    b.file.outputs.push_back(b.Add(v, v, {6}, kTexture3D));
    const std::vector<std::string> nodes = NodesOf(ValueOf(LowerFile(b.file)));
    EXPECT_EQ(std::ranges::count(nodes, "reshape@texture3d"), is_in_buffer ? 0 : 1);
  }
}

TEST(Lowering, ViewsOfFiveDimensionsAreNotTextures) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Add(x, x, {2, 3}, kTexture3D);
  const uint32_t v = b.Call("test.view", {TensorArg(y), IntsArg({1, 1, 1, 2, 3})}, {1, 1, 1, 2, 3});
  b.file.outputs = {b.Call("test.sum", {TensorArg(v)}, {1, 1, 1, 2, 3})};
  EXPECT_THAT(NodesOf(ValueOf(LowerFile(b.file))),
              ElementsAre("copy@buffer", "add@texture3d", "copy@texture3d", "sum@buffer"));
}

TEST(Lowering, ViewsOfConstantsAreConstant) {
  Builder b;
  const uint32_t w = b.Weight("w", {2, 3});
  const uint32_t v = b.Call("test.view", {TensorArg(w), IntsArg({6})}, {6});
  const uint32_t x = b.Input("x", {6});
  b.file.outputs = {b.Add(b.Add(v, v, {6}), x, {6})};
  EXPECT_THAT(NodesOf(ValueOf(LowerFile(b.file))), ElementsAre("(add@buffer)", "add@buffer"));
}

TEST(Lowering, WeightsArePackedOnceAtLoad) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t w = b.Weight("w", {2, 3});
  const uint32_t y = b.Call("test.linear", {TensorArg(x), TensorArg(w)}, {2, 3});
  b.file.outputs = {b.Call("test.linear", {TensorArg(y), TensorArg(w)}, {2, 3})};
  Result<Plan> plan = LowerFile(b.file);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(NodesOf(*plan), ElementsAre("(pack@buffer)", "linear@buffer", "linear@buffer"));
  EXPECT_EQ(plan->nodes[1].operands[1], plan->nodes[2].operands[1]);
}

TEST(Lowering, ComputedWeightsArePackedInEveryRun) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  b.file.outputs = {b.Call("test.linear", {TensorArg(x), TensorArg(x)}, {2, 3})};
  Result<Plan> plan = LowerFile(b.file, Storage::kTexture3D);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(NodesOf(*plan),
              ElementsAre("copy@buffer", "pack@buffer", "linear@texture3d", "copy@texture3d"));
}

TEST(Lowering, IntermediatesAreComputedOncePerArgument) {
  Builder b;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t y = b.Call("test.normalize", {TensorArg(x)}, {2, 3});
  const uint32_t z = b.Call("test.normalize", {TensorArg(x)}, {2, 3});
  const uint32_t w = b.Call("test.normalize", {TensorArg(b.Weight("w", {2, 3}))}, {2, 3});
  b.file.outputs = {b.Add(b.Add(y, z, {2, 3}), w, {2, 3})};
  Result<Plan> plan = LowerFile(b.file);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(NodesOf(*plan),
              ElementsAre("pack@buffer", "normalize@buffer", "normalize@buffer", "(pack@buffer)",
                          "(normalize@buffer)", "add@buffer", "add@buffer"));
  const PlanNode& node = plan->nodes[1];
  ASSERT_EQ(node.operands.size(), 3u);
  EXPECT_THAT(node.operands[2], ElementsAre(plan->nodes[0].outputs[0]));
  EXPECT_EQ(node.operands[2], plan->nodes[2].operands[2]);
}

TEST(Lowering, ConstantSubexpressionsRunAtLoad) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  const uint32_t w = b.Weight("w", {3});
  const uint32_t twice = b.Add(w, w, {3});
  b.file.outputs = {b.Add(x, twice, {3})};
  Result<Plan> plan = LowerFile(b.file, Storage::kTexture3D);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(NodesOf(*plan), ElementsAre("(copy@buffer)", "(add@texture3d)", "copy@buffer",
                                          "add@texture3d", "copy@texture3d"));
  EXPECT_EQ(plan->layout_copies, 2u);
}

TEST(Lowering, InputsConstantsAndRepeatedOutputsAreCopied) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  const uint32_t w = b.Weight("w", {3});
  const uint32_t y = b.Add(x, w, {3});
  const uint32_t v = b.Call("test.view", {TensorArg(x), IntsArg({1, 3})}, {1, 3});
  b.file.outputs = {y, x, w, y, v};
  Result<Plan> plan = LowerFile(b.file);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(NodesOf(*plan), ElementsAre("add@buffer", "bytes@buffer", "bytes@buffer",
                                          "bytes@buffer", "bytes@buffer"));
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(plan->tensors[plan->Root(plan->outputs[i])].output, static_cast<int>(i));
  }
}

// Intermediate tensors may be larger; the device limits them.
TEST(Lowering, InputsAndOutputsMustFitTheAddressSpace) {
  Builder model;
  const uint32_t x = model.Input("x", {(uint64_t{1} << 30) + 3});
  model.file.outputs = {x};
  const Result<Plan> plan = LowerFile(model.file);
  if (sizeof(size_t) > 4) {
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    return;
  }
  EXPECT_EQ(plan.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(plan.status().message(),
              HasSubstr("Input 'x' has 4294967308 bytes, which exceeds the address space"));
}

TEST(Lowering, DeadNodesAreDropped) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  const uint32_t w = b.Weight("w", {3});
  b.Add(x, b.Add(w, w, {3}), {3});
  b.file.outputs = {b.Add(x, x, {3})};
  Result<Plan> plan = LowerFile(b.file);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->nodes.size(), 1u);
}

TEST(Lowering, AGraphWithoutNodesIsValid) {
  Builder b;
  b.file.outputs = {b.Input("x", {3})};
  Result<Plan> plan = LowerFile(b.file);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(NodesOf(*plan), ElementsAre("bytes@buffer"));
  EXPECT_THAT(NodesOf(ValueOf(LowerFile(FileGraph()))), IsEmpty());
}

}  // namespace
}  // namespace spirloom::graph
