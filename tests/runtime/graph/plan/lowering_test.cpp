#include "runtime/graph/plan/lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/limits.h"
#include "tests/support/fake_library/fake_library.h"
#include "tests/support/graph_file_builder.h"
#include "tests/value_of.h"

namespace spirloom::graph {
namespace {

using ::spirloom::testing::FakeIndex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kBuffer = static_cast<int>(Storage::kBuffer);
constexpr int kTexture3D = static_cast<int>(Storage::kTexture3D);

Result<Plan> LowerFile(const FileGraph& file, Storage storage = Storage::kAuto,
                       const DeviceTraits& device = {},
                       const std::vector<std::string>& kernels = {},
                       uint64_t max_dispatches = 100) {
  const std::vector<std::byte> bytes = file.Write();
  SPIRLOOM_TRY_ASSIGN(const Graph graph, ParseGraph(bytes));
  return Lower(graph, FakeIndex(), device,
               {.storage = storage, .kernels = kernels, .max_dispatches = max_dispatches});
}

constexpr int kTexture2D = static_cast<int>(Storage::kTexture2D);

// The nodes in order, e.g. "add@buffer"; constant nodes in parentheses.
std::vector<std::string> NodesOf(const Plan& plan) {
  std::vector<std::string> texts;
  for (const PlanNode& node : plan.nodes) {
    std::string text = node.op == nullptr ? "bytes" : node.kernel->name;
    text += "@" + std::string(Name(node.storage));
    texts.push_back(node.is_constant ? "(" + text + ")" : text);
  }
  return texts;
}

class Builder {
 public:
  uint32_t Input(const std::string& name, std::vector<uint64_t> shape, int dtype = 0) {
    const uint32_t tensor = file.AddTensor(name, std::move(shape), dtype);
    file.inputs.push_back(tensor);
    return tensor;
  }
  uint32_t Weight(const std::string& name, std::vector<uint64_t> shape) {
    size_t count = 1;
    for (uint64_t dim : shape) count *= static_cast<size_t>(dim);
    return file.AddConstant<float>(name, std::move(shape), 0, std::vector<float>(count));
  }
  uint32_t Call(const std::string& op, std::vector<Arg> args, std::vector<uint64_t> shape,
                int storage = 0, int dtype = 0) {
    const std::string name = "t" + std::to_string(file.tensors.size());
    const uint32_t y = file.AddTensor(name, std::move(shape), dtype, storage);
    file.nodes.push_back({op, std::move(args), {y}, name});
    return y;
  }
  uint32_t Add(uint32_t a, uint32_t b, std::vector<uint64_t> shape, int storage = 0) {
    return Call("test.add", {TensorArg(a), TensorArg(b)}, std::move(shape), storage);
  }
  FileGraph file;
};

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
  LoweringOptions options;
  options.trials = &trials;
  const auto considered = [&](const DeviceTraits& device) {
    trials.clear();
    EXPECT_TRUE(Lower(graph, ::spirloom::testing::FakeIndex(), device, options).ok());
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

TEST(Lowering, AllMissingOperatorsAndVariantsAreListed) {
  constexpr int kI32 = static_cast<int>(DType::kI32);
  Builder b;
  const uint32_t x = b.Input("x", {3}, kI32);
  const uint32_t y = b.Call("test.add", {TensorArg(x), TensorArg(x)}, {3}, 0, kI32);
  const uint32_t z = b.Call("aten.none", {TensorArg(y)}, {3}, 0, kI32);
  const uint32_t u = b.Call("aten.none", {TensorArg(z)}, {3}, 0, kI32);
  b.file.outputs = {b.Call("test.sum", {TensorArg(u)}, {3}, 0, kI32)};
  const Status status = LowerFile(b.file).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            "The shader libraries (fake) do not contain everything the graph requires:\n"
            "  aten.none: operator not found, for dtype i32, storage buffer (node 1 ('t2', "
            "aten.none) and 1 more)\n"
            "  test.add: no variant of add for dtype i32, storage buffer (node 0 ('t1', "
            "test.add))\n"
            "  test.sum: no variant of sum for dtype i32, storage buffer (node 3 ('t4', "
            "test.sum))\n"
            "Add to the selectors of a shader library\n"
            "  OPS aten.none test.add test.sum\n"
            "  DTYPES i32 STORAGES buffer (if it uses these filters)\n"
            "or MODELS with this graph file, which selects everything the graph requires; or pass "
            "a library that contains them in RuntimeOptions::libraries. A new operator requires a "
            "spec.");
}

TEST(Lowering, MissingDeviceFeaturesAreReported) {
  Builder b;
  b.file.outputs = {b.Call("test.int8", {TensorArg(b.Input("x", {3}))}, {3})};
  const Status status = LowerFile(b.file).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(),
              HasSubstr("requires Vulkan 1.2, storage_buffer_8bit (node 0 ('t1', test.int8))"));
  DeviceTraits device;
  device.capabilities = ~uint64_t{0};
  const Status old = LowerFile(b.file, Storage::kAuto, device).status();
  EXPECT_EQ(old.code(), StatusCode::kUnsupported);
  EXPECT_THAT(old.message(), HasSubstr("requires Vulkan 1.2 (node 0"));
  device.vulkan_minor = 2;
  EXPECT_TRUE(LowerFile(b.file, Storage::kAuto, device).ok());
}

TEST(Lowering, WorkgroupsMustFitTheDeviceLimits) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  b.file.outputs = {b.Add(x, x, {3})};
  DeviceTraits device;
  device.max_workgroup_invocations = 64;
  EXPECT_TRUE(LowerFile(b.file, Storage::kAuto, device).ok());
  device.max_workgroup_invocations = 63;
  const Status status = LowerFile(b.file, Storage::kAuto, device).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(),
              HasSubstr("add_f32_buffer requires workgroups of 64x1x1, above this device's limits "
                        "(128x128x64, 63 invocations) (node 0"));
  DeviceTraits narrow;
  narrow.max_workgroup[0] = 63;
  EXPECT_EQ(LowerFile(b.file, Storage::kAuto, narrow).status().code(), StatusCode::kUnsupported);
}

TEST(Lowering, DispatchesAreLimited) {
  Builder b;
  const uint32_t x = b.Input("x", {2});
  const uint32_t y = b.Call("test.concat", {TensorsArg({x, x, x})}, {6});
  b.file.outputs = {b.Add(y, y, {6})};
  EXPECT_TRUE(LowerFile(b.file, Storage::kAuto, {}, {}, /*max_dispatches=*/4).ok());
  Status status = LowerFile(b.file, Storage::kAuto, {}, {}, /*max_dispatches=*/3).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(),
              HasSubstr("Number of dispatches (1 of this node, 3 of earlier nodes) exceeds the "
                        "limit (3)"));
  status = LowerFile(b.file, Storage::kAuto, {}, {}, /*max_dispatches=*/2).status();
  EXPECT_THAT(status.message(),
              HasSubstr("Number of dispatches (3 of this node, 0 of earlier nodes)"));
  EXPECT_THAT(status.message(), HasSubstr("While preparing node 0 ('t1', test.concat)."));
}

TEST(Lowering, LimitsFollowFromTheSizeOfTheFile) {
  Graph graph;
  const Limits min = Limits::Of(graph);
  EXPECT_EQ(min.dispatches, 16384u);
  EXPECT_EQ(min.device_bytes, uint64_t{1} << 31);
  graph.file_bytes = 640;
  EXPECT_EQ(Limits::Of(graph).dispatches, min.dispatches + 10);
  EXPECT_EQ(Limits::Of(graph).device_bytes, min.device_bytes + 40960);
  Builder b;
  b.file.outputs = {b.Weight("w", {100})};
  const std::vector<std::byte> bytes = b.file.Write();
  const Result<Graph> read = ParseGraph(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_GT(read->file_bytes, 400u);
  EXPECT_LE(read->file_bytes, bytes.size());
}

TEST(Lowering, TensorsOfOneConstantShareABuffer) {
  Builder b;
  const uint32_t w = b.Weight("w", {2, 3});
  const uint32_t flat = b.file.AddTensor("flat", {6});
  b.file.tensors[flat].constant = 0;
  const uint32_t x = b.Input("x", {2, 3});
  const uint32_t z = b.Input("z", {6});
  b.file.outputs = {b.Add(x, w, {2, 3}), b.Add(z, flat, {6})};
  const Result<Plan> plan = LowerFile(b.file);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->nodes.size(), 2u);
  const uint32_t first = plan->nodes[0].operands[1][0];
  const uint32_t second = plan->nodes[1].operands[1][0];
  EXPECT_NE(first, second);
  EXPECT_EQ(plan->Root(second), plan->Root(first));
  EXPECT_TRUE(plan->tensors[second].is_constant);
}

TEST(Lowering, AViewMustBeWithinItsInput) {
  Builder b;
  const uint32_t x = b.Input("x", {64});
  b.file.outputs = {b.Call("test.overflowing_view", {TensorArg(x)}, {64})};
  const Status status = LowerFile(b.file).status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("but exceeds its input"));
}

TEST(Lowering, DeclaredShapesMustEqualComputedShapes) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  b.file.outputs = {b.Add(x, x, {4})};
  const Status status = LowerFile(b.file).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  EXPECT_EQ(status.message(),
            "Output 0 is declared as float32 [4], but test.add computes float32 [3].\n"
            " - While preparing node 0 ('t1', test.add).");
}

TEST(Lowering, FormulaErrorsNameTheNode) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  const uint32_t z = b.Input("z", {4});
  b.file.outputs = {b.Add(x, z, {4})};
  const Status status = LowerFile(b.file).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  EXPECT_THAT(status.message(), HasSubstr("While preparing node 0 ('t2', test.add)."));
}

TEST(Lowering, ArgumentsMustMatchTheSchema) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  b.file.outputs = {b.Call("test.add", {TensorArg(x), IntArg(1)}, {3})};
  EXPECT_THAT(LowerFile(b.file).status().message(),
              HasSubstr("Argument b of test.add is of kind int; expected tensor."));
  b.file.nodes[0].args = {TensorArg(x), NoneArg()};
  EXPECT_THAT(LowerFile(b.file).status().message(), HasSubstr("is of kind none; expected tensor."));
  b.file.nodes[0].args = {TensorArg(x)};
  EXPECT_THAT(
      LowerFile(b.file).status().message(),
      HasSubstr(
          "Number of arguments (1) differs from that of test.add (2). The operator has changed"));
  b.file.nodes[0] = {"test.add", {TensorArg(x), TensorArg(x)}, {}, "n"};
  b.file.outputs = {x};
  EXPECT_THAT(LowerFile(b.file).status().message(),
              HasSubstr("Number of outputs (0) differs from that of test.add (1)."));
}

TEST(Lowering, OptionalTensorsThatAnOlderFileOmitsAreAbsent) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  b.file.outputs = {b.Call("test.optional", {TensorArg(x)}, {3})};
  const Plan plan = ValueOf(LowerFile(b.file));
  b.file.nodes[0].args = {TensorArg(x), NoneArg()};
  const Plan expected = ValueOf(LowerFile(b.file));
  ASSERT_THAT(NodesOf(plan), ElementsAre("optional@buffer"));
  EXPECT_EQ(plan.nodes[0].args, expected.nodes[0].args);
  b.file.nodes[0].args = {};
  EXPECT_THAT(LowerFile(b.file).status().message(),
              HasSubstr("Number of arguments (0) differs from that of test.optional (2)."));
  b.file.nodes[0].args = {TensorArg(x), NoneArg(), NoneArg()};
  EXPECT_THAT(LowerFile(b.file).status().message(),
              HasSubstr("Number of arguments (3) differs from that of test.optional (2)."));
}

TEST(Lowering, TensorsBeyondTheBindingLimitAreReported) {
  Builder b;
  const uint32_t x = b.Input("x", {100});
  b.file.outputs = {b.Add(x, x, {100})};
  DeviceTraits device;
  device.max_storage_buffer_range = 399;
  const Status status = LowerFile(b.file, Storage::kAuto, device).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(
      status.message(),
      HasSubstr("Size (400) of tensor 'x' exceeds the device's maxStorageBufferRange (399)"));
}

TEST(Lowering, BufferPaddingCountsTowardTheBindingLimit) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  b.file.outputs = {b.Add(x, x, {3})};
  DeviceTraits device;
  device.max_storage_buffer_range = 15;
  EXPECT_THAT(LowerFile(b.file, Storage::kAuto, device).status().message(),
              HasSubstr("Size (16) of tensor 'x' exceeds"));
  device.max_storage_buffer_range = 16;
  EXPECT_TRUE(LowerFile(b.file, Storage::kAuto, device).ok());
}

}  // namespace
}  // namespace spirloom::graph
