// Graphs that cannot be lowered: missing kernels and features, limits, invalid calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/plan/limits.h"
#include "tests/runtime/graph/plan/lowering_fixture.h"

namespace spirloom::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  EXPECT_THAT(
      status.message(),
      HasSubstr(
          "requires Vulkan 1.2, storage_buffer_8bit, shader_int8 (node 0 ('t1', test.int8))"));
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

TEST(Lowering, BindingsMustFitTheDeviceLimits) {
  Builder b;
  const uint32_t x = b.Input("x", {3});
  b.file.outputs = {b.Add(x, x, {3})};
  DeviceTraits device;
  device.bindings.storage_buffers = 3;
  EXPECT_TRUE(LowerFile(b.file, Storage::kBuffer, device).ok());
  device.bindings.storage_buffers = 2;
  EXPECT_TRUE(LowerFile(b.file, Storage::kBuffer, device).ok()) << "textures are selected";
  device.bindings.storage_images = 0;
  const Status status = LowerFile(b.file, Storage::kBuffer, device).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("above this device's limit ("));
  DeviceTraits few;
  few.bindings.resources = 2;
  EXPECT_THAT(LowerFile(b.file, Storage::kAuto, few).status().message(),
              HasSubstr("add_f32_buffer requires 3 resources, above this device's limit (2)"));
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
  for (const int64_t offset : {int64_t{1}, int64_t{65}, int64_t{1} << 62}) {
    Builder b;
    const uint32_t x = b.Input("x", {64});
    b.file.outputs = {b.Call("test.exceeding_view", {TensorArg(x), IntArg(offset)}, {64})};
    const Status status = LowerFile(b.file).status();
    EXPECT_EQ(status.code(), StatusCode::kInternal);
    EXPECT_THAT(status.message(), HasSubstr("but exceeds its input"));
  }
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
