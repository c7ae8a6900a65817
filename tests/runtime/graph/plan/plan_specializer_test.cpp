#include "runtime/graph/plan/plan_specializer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/graph/plan/specialized_plan.h"
#include "tests/support/random_graph.h"

namespace spirloom::graph {
namespace {

using ::spirloom::testing::kMaxSymbol;
using ::spirloom::testing::RandomGraph;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PlanSpecializer, EqualsThePlanOfTheCompilerForAllSizes) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  const uint32_t y = b.Add(b.Sum(x, kMax), x, {kMax});
  b.file.outputs = {b.Add(y, b.Sum(y, kMax), {kMax})};
  EXPECT_EQ(Specialized(b.file).SizesWithThisPlan().size(), size_t{kMax});
  EXPECT_EQ(Specialized(b.file, 5).SizesWithThisPlan().size(), size_t{kMax});
}

// Random graphs and sizes: a plan is specialized if and only if the compiler's has its structure.
TEST(PlanSpecializer, EqualsThePlanOfTheCompilerForRandomGraphs) {
  size_t specialized = 0, refused = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    DeviceTraits device;
    device.buffer_offset_alignment = 16;
    const Specialized plan(RandomGraph(seed), seed % (kMaxSymbol + 1), {}, device);
    ASSERT_TRUE(plan.is_complete());
    for (const int64_t n :
         {int64_t{0}, int64_t{8}, int64_t{12}, 1 + seed / 3 % kMaxSymbol, kMaxSymbol}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", n = " + std::to_string(n));
      const bool equal = plan.CheckFor(n);
      EXPECT_EQ(equal, plan.HasSameStructureFor(n));
      ++(equal ? specialized : refused);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(specialized, 200u);
  EXPECT_GT(refused, 20u);
}

TEST(PlanSpecializer, LargerTensorsMustFitTheDevice) {
  Dynamic b;
  b.file.outputs = {b.Sum(b.InputOfN("x"), kMax)};
  DeviceTraits device = Device();
  device.max_storage_buffer_range = 40 * sizeof(float);
  const Specialized specialized(b.file, 8, {}, device);
  EXPECT_TRUE(specialized.CheckFor(40));
  EXPECT_FALSE(specialized.Evaluate(41));
}

// The compiler would fail.
TEST(PlanSpecializer, InvalidSizesRequireAnotherPlan) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  const uint32_t matrix = b.Input("matrix", {kMax, kMax});
  b.file.tensors[matrix].sizes = {kN, kN};
  b.file.outputs = {b.Call("test.slice", {TensorArg(x), IntArg(8), IntArg(1), IntArg(1)}, {1})};
  const Specialized specialized(b.file);
  EXPECT_TRUE(specialized.CheckFor(9));
  EXPECT_FALSE(specialized.Evaluate(8)) << "the slice exceeds x";
  EXPECT_FALSE(specialized.Evaluate(INT32_MAX)) << "the matrix has too many elements";
  EXPECT_FALSE(specialized.Evaluate(INT64_MAX / 2)) << "the size is not an int32";
}

TEST(PlanSpecializer, InputsHaveTheirTypes) {
  Dynamic b;
  const uint32_t ids = b.Input("ids", {kMax}, static_cast<int>(DType::kF16));
  b.file.tensors[ids].sizes = {kN};
  b.file.outputs = {b.Sum(b.InputOfN("x"), kMax)};
  EXPECT_EQ(Specialized(b.file, 5).SizesWithThisPlan().size(), size_t{kMax});
}

// A view of a view, a constant slice of which has a changing offset.
TEST(PlanSpecializer, ViewsOfViewsHaveTheirOffsets) {
  Dynamic b;
  const uint32_t x = b.Input("x", {2 * kMax});
  b.file.tensors[x].sizes = {b.Linear(2, 0).sizes[0]};
  Arg shape = IntsArg({kMax});
  shape.sizes = {kN};
  const uint32_t view = b.Call("test.view", {TensorArg(b.SecondN(x)), shape}, {kMax});
  b.file.outputs = {b.Sum(view, kMax)};
  EXPECT_THAT(Specialized(b.file).SizesWithThisPlan(), ElementsAre(16, 32, 48, 64));
}

TEST(PlanSpecializer, ViewsWithinTheirSource) {
  for (const int64_t factor : {1, 9}) {
    Dynamic b;
    b.file.symbols[0].max = 8;
    const uint32_t x = b.Input("x", {8});
    b.file.tensors[x].sizes = {kN};
    Arg offset = b.Linear(factor, -8 * factor);
    offset.ints = {0};
    const uint32_t view = b.Call("test.exceeding_view", {TensorArg(x), offset}, {8});
    b.file.outputs = {b.Sum(view, 8)};
    const Specialized specialized(b.file, 8);
    EXPECT_TRUE(specialized.CheckFor(8));
    for (const int64_t n : {9, 16, 24, 40}) EXPECT_FALSE(specialized.Evaluate(n)) << n;
  }
}

TEST(PlanSpecializer, UpdatesOfStatesHaveTheirShape) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  const uint32_t s = b.file.AddTensor("s", {kMax});
  b.file.states = {{s, b.Add(x, x, {kMax})}};
  b.file.outputs = {b.Sum(x, kMax)};
  const Specialized specialized(b.file);
  EXPECT_TRUE(specialized.CheckFor(kMax));
  EXPECT_FALSE(specialized.Evaluate(kMax - 1));
}

// The arguments are equal for n = 16.
TEST(PlanSpecializer, SizesDistinguishCalls) {
  Dynamic b;
  const uint32_t x = b.Input("x", {2 * kMax});
  const auto slice = [&](Arg count, uint64_t size) {
    return b.Sum(b.Call("test.slice", {TensorArg(x), IntArg(1), count, IntArg(2)}, {size}), size);
  };
  b.file.outputs = {b.Concat({slice(b.Linear(1, 0), kMax), slice(IntArg(16), 16), b.InputOfN("y")},
                             2 * kMax + 16)};
  EXPECT_TRUE(Specialized(b.file, 16).CheckFor(32));
}

TEST(PlanSpecializer, FloatsAndTextsDistinguishCalls) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  uint32_t y = x;
  for (const double factor : {1.0, 2.0}) {
    for (const std::string mode : {"fast", "good"}) {
      y = b.Add(y, b.Call("test.scale", {TensorArg(x), FloatArg(factor), StringArg(mode)}, {kMax}),
                {kMax});
    }
  }
  b.file.outputs = {y};
  EXPECT_EQ(Specialized(b.file, 5).SizesWithThisPlan().size(), size_t{kMax});
}

session::TunedKernels FastestSum(std::vector<int64_t> sizes) {
  session::TunedKernels tuned;
  for (const int64_t n : sizes) {
    tuned["test.sum(f32[" + std::to_string(n) + "]) in buffer"] = "sum_sg32";
  }
  return tuned;
}

// Results of tuning are those of a size: only where they change the kernel is the plan another.
TEST(PlanSpecializer, OtherTunedKernelsRequireAnotherPlan) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  b.file.outputs = {b.Sum(x, kMax)};
  EXPECT_EQ(
      Specialized(b.file, kMax, {{"of another model", "sum_sg32"}}).SizesWithThisPlan().size(),
      size_t{kMax});
  Specialized specialized(b.file);
  specialized.Tune(FastestSum({3, 5}));
  EXPECT_EQ(specialized.SizesWithThisPlan().size(), size_t{kMax - 2});
  EXPECT_FALSE(specialized.CheckFor(3));
  EXPECT_FALSE(specialized.CheckFor(5));
  EXPECT_THAT(Specialized(b.file, 8, FastestSum({8, 16, 17})).SizesWithThisPlan(),
              ElementsAre(8, 16, 17));
}

// The text of a call, for which tuning stores a kernel, says which arguments are constants.
TEST(PlanSpecializer, FindsTunedKernelsOfCallsWithConstants) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  const uint32_t w = b.file.AddConstant<float>("w", {3}, 0, {1, 2, 3});
  const uint32_t computed = b.Input("computed", {3});
  const uint32_t first = b.Call("test.linear", {TensorArg(x), TensorArg(computed)}, {kMax});
  const uint32_t second = b.Call("test.linear", {TensorArg(x), TensorArg(w)}, {kMax});
  b.file.outputs = {b.Add(first, second, {kMax})};
  Specialized specialized(b.file);
  specialized.Tune({{"test.linear(f32[7], const f32[3]) in buffer", "linear_sg32"},
                    {"test.linear(f32[9], f32[3]) in buffer", "linear_sg32"}});
  EXPECT_FALSE(specialized.CheckFor(7));
  EXPECT_FALSE(specialized.CheckFor(9));
  EXPECT_TRUE(specialized.CheckFor(8));
}

// Offsets of aliases must be multiples of 16 elements.
TEST(PlanSpecializer, OtherAliasesRequireAnotherPlan) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  const uint32_t parts = b.Concat({b.Sum(x, kMax), b.Sum(x, kMax)}, 2 * kMax);
  b.file.outputs = {b.Sum(parts, 2 * kMax)};
  EXPECT_THAT(Specialized(b.file).SizesWithThisPlan(), ElementsAre(16, 32, 48, 64));
  const Specialized unaligned(b.file, 20);
  EXPECT_FALSE(unaligned.CheckFor(16));
  EXPECT_TRUE(unaligned.CheckFor(36));
}

TEST(PlanSpecializer, OffsetsOfViewsAreEvaluated) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  const uint32_t parts = b.Concat({x, b.Sum(x, kMax)}, 2 * kMax);
  const uint32_t second = b.SecondN(b.Sum(parts, 2 * kMax));
  b.file.outputs = {b.Sum(second, kMax)};
  EXPECT_THAT(Specialized(b.file).SizesWithThisPlan(), ElementsAre(16, 32, 48, 64));
}

TEST(PlanSpecializer, OtherConstantsRequireAnotherPlan) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  const uint32_t part = b.SecondN(b.Weight("w", {2 * kMax}));
  b.file.outputs = {b.Add(x, part, {kMax})};
  EXPECT_THAT(Specialized(b.file).SizesWithThisPlan(), ElementsAre(kMax));
}

// Two calls share a packed tensor if they pack by equal numbers.
TEST(PlanSpecializer, NumbersOfPackingAreEvaluated) {
  const auto group = [](std::vector<int64_t> limits) {
    Dynamic b;
    const uint32_t x = b.InputOfN("x");
    uint32_t y = x;
    for (const int64_t limit : limits) {
      y = b.Add(y, b.Call("test.group", {TensorArg(x), IntArg(limit)}, {kMax}), {kMax});
    }
    b.file.outputs = {y};
    return b.file;
  };
  EXPECT_EQ(Specialized(group({100})).SizesWithThisPlan().size(), size_t{kMax});
  EXPECT_EQ(Specialized(group({100, 80})).SizesWithThisPlan().size(), size_t{kMax});
  EXPECT_THAT(Specialized(group({100, kMax - 2})).SizesWithThisPlan(), ElementsAre(63, 64));
  EXPECT_EQ(Specialized(group({100, kMax - 2}), 10).SizesWithThisPlan().size(), size_t{kMax - 2});
}

// The packing calls are equal for n = 10, but for their tensors.
TEST(PlanSpecializer, NumbersOfPackingDiffer) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  const uint32_t y = b.InputOfN("y");
  const uint32_t first = b.Call("test.group", {TensorArg(x), IntArg(100)}, {kMax});
  const uint32_t second = b.Call("test.group", {TensorArg(y), IntArg(40)}, {kMax});
  b.file.outputs = {b.Add(first, second, {kMax})};
  EXPECT_EQ(Specialized(b.file, 10).SizesWithThisPlan().size(), size_t{kMax});
}

TEST(PlanSpecializer, LoopIterationsAreEvaluated) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  const uint32_t twice = b.Concat({x, x}, 2 * kMax);
  b.file.outputs = {b.Call("test.scan", {TensorArg(twice)}, {2 * kMax})};
  EXPECT_EQ(Specialized(b.file, 10).SizesWithThisPlan().size(), 50u);
}

TEST(PlanSpecializer, EvaluatesEqualCallsOnce) {
  Dynamic b;
  uint32_t x = b.InputOfN("x");
  for (int i = 0; i < 10; ++i) x = b.Sum(b.Add(x, x, {kMax}), kMax);
  b.file.outputs = {x};
  EXPECT_EQ(Specialized(b.file).DistinctCalls(7), 2u);
}

TEST(PlanSpecializer, TexturesAreNotTraced) {
  Dynamic b;
  const uint32_t x = b.InputOfN("x");
  b.file.outputs = {b.Add(b.Add(x, x, {kMax}, kTexture3D), x, {kMax})};
  EXPECT_FALSE(Specialized(b.file).is_complete());
}

TEST(KeyTable, AssignsIndicesToDistinctKeys) {
  KeyTable table;
  std::vector<uint32_t> indices;
  for (int64_t i = 0; i < 200; ++i)
    indices.push_back(table.Add(std::vector{i % 100, -i % 100}).first);
  EXPECT_EQ(table.size(), 100u);
  EXPECT_EQ(indices[42], 42u);
  EXPECT_EQ(indices[142], 42u);
  EXPECT_THAT(table[42], ElementsAre(42, -42));
  EXPECT_TRUE(table.Add({}).second);
  EXPECT_FALSE(table.Add({}).second);
  EXPECT_THAT(table[100], IsEmpty());
}

}  // namespace
}  // namespace spirloom::graph
