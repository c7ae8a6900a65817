#include "integrations/executorch/lower/lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executorch/program_builder.h"
#include "tests/value_of.h"

namespace spirloom::delegate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Lowered> LowerOf(ProgramBuilder& builder, const std::vector<std::byte>& constants = {}) {
  SPIRLOOM_TRY_ASSIGN(const Program program, builder.Read(constants));
  return Lower(program, AllNames());
}

std::string ErrorOf(ProgramBuilder& builder) { return LowerOf(builder).status().message(); }

// The lowered graph, parsed. Its constants are not valid.
graph::Graph GraphOf(ProgramBuilder& builder) {
  Result<Lowered> lowered = LowerOf(builder);
  EXPECT_TRUE(lowered.ok()) << lowered.status().message();
  if (!lowered.ok()) return {};
  const auto graph = Parse(lowered->graph);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? **graph : graph::Graph();
}

std::vector<std::string> OpsOf(const graph::Graph& graph) {
  std::vector<std::string> ops;
  for (const graph::Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

// y = NAME(x), with one input and one output.
ProgramBuilder Unary(const std::string& name) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({2, 3}), y = builder.AddTensor({2, 3});
  builder.AddCall(name, {x, y});
  builder.graph.inputs = {0};
  builder.graph.outputs = {1};
  return builder;
}

TEST(Lowering, BindsByNamesOfSpecs) {
  ProgramBuilder builder = Unary("aten.relu.default");
  const graph::Graph graph = GraphOf(builder);
  EXPECT_THAT(OpsOf(graph), ElementsAre("aten.relu"));
  EXPECT_EQ(graph.symbols.size(), 2U);  // both sizes are dynamic
}

TEST(Lowering, ListsAllUnknownOperators) {
  ProgramBuilder builder = Unary("aten.relu");
  const int32_t z = builder.AddTensor({2, 3});
  builder.AddCall("my.op", {0, z});
  builder.AddCall("my.op", {0, builder.AddTensor({2, 3})});
  builder.AddCall("my.other", {0, builder.AddTensor({2, 3})});
  builder.AddCall("aten.relu", {z, builder.AddTensor({2, 3})});  // not reported: z is undefined
  EXPECT_EQ(ErrorOf(builder),
            "The delegate has 2 errors:\n - Operator 'my.op' is not in the library."
            "\n - Operator 'my.other' is not in the library.");
}

// ExecuTorch's memory planning may give constants a memory id too.
TEST(Lowering, ConstantsWithMemoryAreNoStates) {
  ProgramBuilder builder = Unary("aten.relu");
  builder.AddConstant(0, 16, "weight");
  builder.named = std::vector<std::byte>(16);
  const int32_t weight = builder.AddTensor({4}, vk::ElementType::F32, /*constant=*/0, /*memory=*/1);
  const int32_t y = builder.AddTensor({4});
  builder.AddCall("aten.relu", {weight, y});
  builder.graph.outputs.push_back(static_cast<uint32_t>(y));
  const graph::Graph graph = GraphOf(builder);
  EXPECT_THAT(OpsOf(graph), ElementsAre("aten.relu", "aten.relu"));
  EXPECT_TRUE(graph.states.empty());
}

TEST(Lowering, ConstantsAreNotCopied) {
  ProgramBuilder builder = Unary("aten.relu");
  builder.AddConstant(0, 16, "weight");
  builder.named = std::vector<std::byte>(16);
  const int32_t weight = builder.AddTensor({4}, vk::ElementType::F32, /*constant=*/0);
  const int32_t y = builder.AddTensor({4});
  builder.AddCall("aten.relu", {weight, y});
  builder.graph.outputs.push_back(static_cast<uint32_t>(y));
  const Lowered lowered = ValueOf(LowerOf(builder));
  ASSERT_EQ(lowered.graph.constants.size(), 1U);
  EXPECT_EQ(lowered.graph.constants[0].data(), builder.named.data());
  EXPECT_TRUE(lowered.graph.buffers.empty());
}

// y = relu(s += x), where s has the initial value `initial`, prepacked or not.
graph::Graph Accumulating(std::vector<std::byte> initial, bool prepacked) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({4}), y = builder.AddTensor({4});
  builder.AddConstant(0, 16, "initial");
  const int32_t start = builder.AddTensor({4}, vk::ElementType::F32, 0);
  const int32_t state = prepacked ? builder.AddTensor({4}) : start;
  if (prepacked) builder.AddCall("et_vk.prepack.default", {start, state});
  builder.AddCall("aten.add.Tensor", {state, x, builder.AddInt(1), state});
  builder.AddCall("aten.relu.default", {state, y});
  builder.graph.inputs = {0};
  builder.graph.outputs = {1};
  builder.named = std::move(initial);
  return GraphOf(builder);
}

TEST(Lowering, ConvertsMutatedBuffersToStates) {
  for (bool prepacked : {false, true}) {
    const graph::Graph graph = Accumulating(std::vector<std::byte>(16, std::byte{1}), prepacked);
    EXPECT_THAT(OpsOf(graph), ElementsAre("aten.add.Tensor", "aten.relu"));
    ASSERT_EQ(graph.states.size(), 1U);
    EXPECT_EQ(graph.nodes[0].args[0].tensors[0], graph.states[0]);
    EXPECT_EQ(graph.nodes[0].outputs[0], graph.updates[0]);
    EXPECT_EQ(graph.nodes[1].args[0].tensors[0], graph.updates[0]);
    EXPECT_EQ(graph.tensors[graph.states[0]].initial, 0);
  }
}

// relu(cache) after x is written to the row given by element 1 of an input. The cache is a buffer
// or an input.
ProgramBuilder Writing(bool is_buffer) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({1, 1, 1, 4});
  const int32_t at = builder.AddTensor({2}, vk::ElementType::I32);
  builder.AddConstant(0, 64, "initial");
  builder.named = std::vector<std::byte>(64);
  const int32_t cache =
      builder.AddTensor({1, 4, 1, 4}, vk::ElementType::F32, is_buffer ? 0 : -1, is_buffer ? 1 : -1);
  const int32_t y = builder.AddTensor({1, 4, 1, 4}), position = builder.AddSymInt();
  builder.AddCall("et_vk.select_as_symint.default",
                  {at, builder.AddInt(0), builder.AddInt(1), position});
  builder.AddCall("update_cache.default", {x, cache, position, builder.AddTensor({1})});
  builder.AddCall("aten.relu.default", {cache, y});
  builder.graph.inputs = {static_cast<uint32_t>(x), static_cast<uint32_t>(at)};
  if (!is_buffer) builder.graph.inputs.push_back(static_cast<uint32_t>(cache));
  builder.graph.outputs = {static_cast<uint32_t>(y)};
  return builder;
}

TEST(Lowering, UpdatesABufferAtAPositionFromAnInput) {
  ProgramBuilder builder = Writing(/*is_buffer=*/true);
  const graph::Graph graph = GraphOf(builder);
  EXPECT_THAT(OpsOf(graph), ElementsAre("aten.slice.Tensor", "spirloom.cache_update", "aten.relu"));
  ASSERT_EQ(graph.states.size(), 1U);
  EXPECT_EQ(graph.nodes[1].args[0].tensors[0], graph.states[0]);
  EXPECT_EQ(graph.nodes[1].args[2].tensors[0], graph.nodes[0].outputs[0]);
  EXPECT_EQ(graph.nodes[1].outputs[0], graph.updates[0]);
  EXPECT_EQ(graph.nodes[2].args[0].tensors[0], graph.updates[0]);
  EXPECT_EQ(graph.inputs.size(), 2U);  // the position is not a size of the graph
}

TEST(Lowering, RejectsUpdatesOfInputs) {
  ProgramBuilder builder = Writing(/*is_buffer=*/false);
  EXPECT_THAT(ErrorOf(builder),
              HasSubstr("which the call updates in place, is not a buffer of the delegate"));
}

TEST(Lowering, OmitsZeroInitialValuesOfStates) {
  const graph::Graph graph = Accumulating(std::vector<std::byte>(16), /*prepacked=*/true);
  ASSERT_EQ(graph.states.size(), 1U);
  EXPECT_EQ(graph.tensors[graph.states[0]].initial, -1);
}

TEST(Lowering, RejectsUndefinedValues) {
  ProgramBuilder builder = Unary("aten.relu");
  builder.AddCall("aten.relu", {builder.AddTensor({2}), builder.AddTensor({2})});
  EXPECT_THAT(ErrorOf(builder), HasSubstr("value 2 is read before it is defined"));
  ProgramBuilder twice = Unary("aten.relu");
  twice.AddCall("aten.relu", {0, 1});
  EXPECT_THAT(ErrorOf(twice), HasSubstr("value 1 is defined twice"));
}

TEST(Lowering, ConvertsScalarsToTensors) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({4}), y = builder.AddTensor({4}, vk::ElementType::Bool);
  builder.AddCall("aten.eq.Scalar", {x, builder.AddInt(3), y});
  builder.graph.inputs = {0};
  builder.graph.outputs = {1};
  const graph::Graph graph = GraphOf(builder);
  EXPECT_THAT(OpsOf(graph), ElementsAre("aten.eq.Tensor"));
  EXPECT_EQ(graph.constants.size(), 1U);
  EXPECT_EQ(graph.constants[0].size(), 4U);
}

TEST(Lowering, RejectsExtraArguments) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({4}), y = builder.AddTensor({4});
  builder.AddCall("aten.relu", {x, builder.AddNull(), y});
  EXPECT_TRUE(builder.Read().ok());
  builder.AddCall("aten.abs", {x, builder.AddInt(1), builder.AddTensor({4})});
  builder.graph.inputs = {0};
  EXPECT_THAT(ErrorOf(builder),
              HasSubstr("Operator 'aten.abs' is not in the library for these arguments."));
}

TEST(Lowering, SupportsDynamicShapes) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({4, 6}), y = builder.AddTensor({24});
  const int32_t h = builder.AddSymInt(), w = builder.AddSymInt(), n = builder.AddSymInt();
  builder.AddCall("sym_size.int", {x, builder.AddInt(0), h});
  builder.AddCall("sym_size.int", {x, builder.AddInt(-1), w});
  builder.AddCall("mul", {h, w, n});
  builder.AddCall("aten.view_copy.default", {x, builder.AddList({n}), y});
  builder.graph.inputs = {0};
  builder.graph.outputs = {1};
  const graph::Graph graph = GraphOf(builder);
  ASSERT_THAT(OpsOf(graph), ElementsAre("aten.view"));
  EXPECT_THAT(graph.nodes[0].args[1].ints, ElementsAre(24));
  ASSERT_THAT(graph.nodes[0].args[1].sizes, testing::SizeIs(1));
}

TEST(Lowering, ReadsIntInputs) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({8}), y = builder.AddTensor({8});
  const int32_t end = builder.AddSymInt();
  builder.AddCall("aten.slice_copy.Tensor",
                  {x, builder.AddInt(0), builder.AddInt(0), end, builder.AddInt(1), y});
  builder.graph.inputs = {0, 2};
  builder.graph.outputs = {1};
  Result<Lowered> lowered = LowerOf(builder);
  ASSERT_TRUE(lowered.ok()) << lowered.status().message();
  ASSERT_EQ(lowered->int_inputs.size(), 1U);
  EXPECT_TRUE(lowered->int_inputs[0].is_size);
  const graph::Graph graph = GraphOf(builder);
  EXPECT_EQ(graph.inputs.size(), 1U);
  ASSERT_EQ(graph.int_inputs.size(), 1U);
  EXPECT_EQ(graph.symbols[graph.int_inputs[0].symbol].max, 8);
}

// Ints that are not sizes are data: the graph has no symbol for them, so that other values need no
// other execution plan.
TEST(Lowering, UploadsIntsThatAreNoSizes) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({8, 1}), at = builder.AddSymInt(), end = builder.AddSymInt();
  const int32_t rows = builder.AddTensor({3, 1}), row = builder.AddTensor({1});
  const int32_t range = builder.AddTensor({3}), sum = builder.AddTensor({8, 1});
  const int32_t zero = builder.AddInt(0), one = builder.AddInt(1);
  builder.AddCall("add", {at, builder.AddInt(3), end});
  builder.AddCall("aten.slice_copy.Tensor", {x, zero, at, end, one, rows});
  builder.AddCall("aten.select_copy.int", {x, zero, at, row});
  builder.AddCall("aten.arange.start_step", {at, end, one, range});
  builder.AddCall("aten.add.Tensor", {x, at, one, sum});
  builder.graph.inputs = {static_cast<uint32_t>(x), static_cast<uint32_t>(at)};
  for (const int32_t y : {rows, row, range, sum}) {
    builder.graph.outputs.push_back(static_cast<uint32_t>(y));
  }
  Result<Lowered> lowered = LowerOf(builder);
  ASSERT_TRUE(lowered.ok()) << lowered.status().message();
  ASSERT_EQ(lowered->int_inputs.size(), 1U);
  EXPECT_FALSE(lowered->int_inputs[0].is_size);
  const graph::Graph graph = GraphOf(builder);
  EXPECT_EQ(graph.symbols.size(), 1U);  // the first size of x
  EXPECT_EQ(graph.inputs.size(), 2U);
  EXPECT_EQ(graph.tensors[graph.inputs[1]].shape, Shape{1});
}

// n is 8 because the view has 3 n = 24 elements.
TEST(Lowering, InfersUpperBoundsOfIntInputsFromSizes) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({8, 3}), y = builder.AddTensor({24});
  const int32_t n = builder.AddSymInt(), m = builder.AddSymInt();
  builder.AddCall("mul", {n, builder.AddInt(3), m});
  builder.AddCall("aten.view_copy", {x, builder.AddList({m}), y});
  builder.graph.inputs = {0, 2};
  builder.graph.outputs = {1};
  const graph::Graph graph = GraphOf(builder);
  ASSERT_EQ(graph.symbols.size(), 3U);
  EXPECT_EQ(graph.symbols[2].max, 24);
  EXPECT_THAT(graph.nodes[0].args[1].ints, ElementsAre(24));
}

TEST(Lowering, BroadcastsCopies) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({4, 3}), source = builder.AddTensor({3});
  const int32_t y = builder.AddTensor({4, 3}, vk::ElementType::I32);
  builder.AddCall("aten.copy", {x, source, builder.AddInt(0), y});
  builder.graph.inputs = {0, 1};
  builder.graph.outputs = {2};
  const graph::Graph graph = GraphOf(builder);
  ASSERT_THAT(OpsOf(graph), ElementsAre("aten.expand", "aten._to_copy"));
  EXPECT_THAT(graph.nodes[0].args[1].ints, ElementsAre(4, 3));
  EXPECT_THAT(graph.nodes[0].args[1].sizes, testing::SizeIs(2));  // of x, which may vary
}

TEST(Lowering, ComparesIntsWithFractionsAsFloats) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({4}, vk::ElementType::I32);
  const int32_t y = builder.AddTensor({4}, vk::ElementType::Bool);
  builder.AddCall("aten.lt.Scalar", {x, builder.AddDouble(3.5), y});
  builder.graph.inputs = {0};
  builder.graph.outputs = {1};
  EXPECT_THAT(OpsOf(GraphOf(builder)), ElementsAre("aten._to_copy", "aten.lt.Tensor"));
}

// The first ceil((n - 1) / 0.75) values of 1, 1.75, …: 12 for n = 10.
TEST(Lowering, SlicesADynamicArangeFromAConstant) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({10}), y = builder.AddTensor({12});
  const int32_t n = builder.AddSymInt();
  builder.AddCall("sym_size.int", {x, builder.AddInt(0), n});
  builder.AddCall("aten.arange.start_step", {builder.AddInt(1), n, builder.AddDouble(0.75), y});
  builder.graph.inputs = {0};
  builder.graph.outputs = {1};
  const graph::Graph graph = GraphOf(builder);
  ASSERT_THAT(OpsOf(graph), ElementsAre("aten.slice.Tensor"));
  EXPECT_EQ(graph.constants[0].size(), 48U);
  EXPECT_THAT(graph.nodes[0].args[3].ints, ElementsAre(12));
  ASSERT_THAT(graph.nodes[0].args[3].sizes, testing::SizeIs(1));
  EXPECT_EQ(graph.sizes[graph.nodes[0].args[3].sizes[0]].divisor, 3);
}

// (code - zero) * scale = code * scale + offset
TEST(Lowering, ConvertsZeroPointsOfInt4TablesToOffsets) {
  ProgramBuilder builder;
  builder.named = std::vector<std::byte>(64);
  builder.AddConstant(0, 64, "data");
  const int32_t table = builder.AddTensor({4, 16}, vk::ElementType::U8, 0);
  const int32_t scales = builder.AddTensor({4, 2}, vk::ElementType::F32, 0);
  const int32_t zeros = builder.AddTensor({4, 2}, vk::ElementType::F32, 0);
  const int32_t index = builder.AddTensor({3}, vk::ElementType::I32);
  const int32_t y = builder.AddTensor({3, 32});
  builder.AddCall("quantized_decomposed.embedding_4bit.dtype",
                  {table, scales, zeros, builder.AddInt(-8), builder.AddInt(7), index, y});
  builder.graph.inputs = {static_cast<uint32_t>(index)};
  builder.graph.outputs = {static_cast<uint32_t>(y)};
  EXPECT_THAT(OpsOf(GraphOf(builder)),
              ElementsAre("aten.mul.Tensor", "aten.neg", "spirloom.embedding_w4"));
}

// The op computes scales in fp32; the output is converted to the declared fp16.
TEST(Lowering, ComputesScalesOfHalfPrecisionProgramsInFp32) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({4, 8}, vk::ElementType::F16);
  const int32_t scale = builder.AddTensor({1}, vk::ElementType::F16);
  const int32_t zero = builder.AddTensor({1}, vk::ElementType::I32);
  builder.AddCall("quantized_decomposed.choose_qparams.tensor",
                  {x, builder.AddInt(-128), builder.AddInt(127), builder.AddDouble(1e-7),
                   builder.AddNull(), builder.AddList({scale, zero})});
  builder.graph.inputs = {static_cast<uint32_t>(x)};
  builder.graph.outputs = {static_cast<uint32_t>(scale)};
  const graph::Graph graph = GraphOf(builder);
  ASSERT_THAT(OpsOf(graph), ElementsAre("spirloom.choose_qparams", "aten._to_copy"));
  EXPECT_EQ(graph.tensors[graph.nodes[0].outputs[0]].dtype, DType::kF32);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].dtype, DType::kF16);
}

TEST(Lowering, ComputesStatisticsOfANormIfTheyAreRead) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({2, 6}), y = builder.AddTensor({2, 6});
  const int32_t mean = builder.AddTensor({2, 1}), rstd = builder.AddTensor({2, 1});
  const int32_t null = builder.AddNull();
  builder.AddCall("aten.native_layer_norm",
                  {x, builder.AddInts({6}), null, null, builder.AddDouble(1e-5),
                   builder.AddList({y, mean, rstd})});
  builder.graph.inputs = {0};
  builder.graph.outputs = {1};
  EXPECT_THAT(OpsOf(GraphOf(builder)), ElementsAre("aten.native_layer_norm"));
  builder.graph.outputs = {1, 3};
  EXPECT_THAT(OpsOf(GraphOf(builder)),
              ElementsAre("aten.native_layer_norm", "aten.mean.dim", "aten.var.correction",
                          "aten.add.Tensor", "aten.rsqrt"));
}

TEST(Lowering, ClampsIntsBeyondAllSizes) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({8}), y = builder.AddTensor({8});
  builder.AddCall("aten.slice_copy.Tensor", {x, builder.AddInt(0), builder.AddInt(0),
                                             builder.AddInt(INT64_MAX), builder.AddInt(1), y});
  builder.graph.inputs = {0};
  builder.graph.outputs = {1};
  Result<Lowered> lowered = LowerOf(builder);
  ASSERT_TRUE(lowered.ok()) << lowered.status().message();
  const std::vector<Shape> shapes{{8}};
  EXPECT_TRUE(Evaluate(lowered->steps, {shapes, {}}).ok());
}

TEST(Lowering, ConvertsInputsAndOutputs) {
  ProgramBuilder builder = Unary("aten.relu");
  for (auto& value : builder.graph.values) {
    value->value.AsTensor()->type = vk::ElementType::F16;
    value->value.AsTensor()->staging_type = vk::ElementType::F32;
  }
  const graph::Graph graph = GraphOf(builder);
  EXPECT_THAT(OpsOf(graph), ElementsAre("aten._to_copy", "aten.relu", "aten._to_copy"));
}

TEST(Lowering, CopiesInputsThatAreOutputs) {
  ProgramBuilder builder = Unary("aten.clone");
  builder.graph.outputs = {1, 1, 0};
  EXPECT_THAT(OpsOf(GraphOf(builder)),
              ElementsAre("aten._to_copy", "aten._to_copy", "aten._to_copy"));
}

}  // namespace
}  // namespace spirloom::delegate
