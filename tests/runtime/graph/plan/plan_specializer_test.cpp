#include "runtime/graph/plan/plan_specializer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/file/specialize.h"
#include "runtime/graph/plan/verify_plan.h"
#include "runtime/graph/record/dispatch.h"
#include "tests/runtime/graph/plan/lowering_fixture.h"
#include "tests/support/plan_difference.h"
#include "tests/support/random_graph.h"

namespace spirloom::graph {
namespace {

using ::spirloom::testing::DifferenceOf;
using ::spirloom::testing::kMaxSymbol;
using ::spirloom::testing::RandomGraph;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMax = 64;

DeviceTraits Device() {
  DeviceTraits device;
  device.buffer_offset_alignment = 64;  // bytes, 16 elements
  return device;
}

// The size expressions of graphs with the symbol n, as indices of FileTensor::sizes and Arg::sizes.
constexpr uint32_t kN = 1;

class Dynamic : public Builder {
 public:
  Dynamic() {
    file.symbols = {{"n", 1, kMax}};
    file.sizes = {{{{1, {0}}}, 1}};
  }
  uint32_t InputOfN(const std::string& name) {
    const uint32_t x = Input(name, {kMax});
    file.tensors[x].sizes = {kN};
    return x;
  }
  uint32_t Sum(uint32_t x, uint64_t size) { return Call("test.sum", {TensorArg(x)}, {size}); }
  uint32_t Concat(std::vector<uint32_t> parts, uint64_t size) {
    return Call("test.concat", {TensorsArg(std::move(parts))}, {size});
  }
  // The second n elements of x.
  uint32_t SecondN(uint32_t x) {
    Arg first = IntArg(kMax);
    Arg count = IntArg(kMax);
    first.sizes = count.sizes = {kN};
    return Call("test.slice", {TensorArg(x), first, count, IntArg(1)}, {kMax});
  }
};

// Whether the plans have the same nodes, kernels, constants and aliases, which a specialized plan
// shares with the plan that it is made of.
bool HaveSameStructure(const Plan& a, const Plan& b) {
  const auto are_equal_tensors = [](const PlanTensor& x, const PlanTensor& y) {
    return x.alias_of == y.alias_of && x.storage() == y.storage() &&
           (x.size == 0) == (y.size == 0) && x.is_constant == y.is_constant &&
           (!x.is_constant || x.desc.shape == y.desc.shape);
  };
  const auto are_skipped = [](const Plan& plan, const PlanNode& node) {
    return node.op == nullptr && plan.HaveSameAddress(node.operands[0][0], node.operands[1][0]);
  };
  const auto are_equal_nodes = [&](const PlanNode& x, const PlanNode& y) {
    return x.op == y.op && x.kernel == y.kernel && x.variant.row == y.variant.row &&
           x.operands == y.operands && x.outputs == y.outputs && x.in_place == y.in_place &&
           x.dispatches.size() == y.dispatches.size() && are_skipped(a, x) == are_skipped(b, y) &&
           x.is_constant == y.is_constant &&
           (!x.is_constant || std::ranges::equal(x.args, y.args, [](const Arg& s, const Arg& t) {
             return spirloom::testing::AreEqual(s, t);
           }));
  };
  return std::ranges::equal(a.tensors, b.tensors, are_equal_tensors) &&
         std::ranges::equal(a.nodes, b.nodes, are_equal_nodes);
}

// A plan for the maximum of n, or for `n`, and its specializer.
class Specialized {
 public:
  explicit Specialized(const FileGraph& file, int64_t n = kMax, session::TunedKernels tuned = {},
                       const DeviceTraits& device = Device())
      : device_(device),
        bytes_(file.Write()),
        graph_(ValueOf(ParseGraph(bytes_))),
        tuned_(std::make_shared<const session::TunedKernels>(std::move(tuned))) {
    LoweringTrace trace;
    plan_ = ValueOf(CompileFor(n, &trace));
    is_complete_ = trace.is_complete;
    if (is_complete_) {
      specializer_.emplace(plan_, std::move(trace), FakeIndex(), device_,
                           std::vector<std::string>());
    }
  }

  bool is_complete() const { return is_complete_; }
  const PlanSpecializer& specializer() const { return *specializer_; }
  const Graph& graph() const { return graph_; }

  // Whether the plan can be specialized. The result must equal the plan of the compiler.
  bool CheckFor(int64_t n) const {
    const std::optional<PlanValues> values =
        specializer_->Evaluate(graph_, std::vector{n}, tuned_.get());
    if (!values) return false;
    const Plan plan = specializer_->Apply(*values);
    EXPECT_TRUE(VerifyPlan(plan, device_).ok()) << n;
    const Plan expected = ValueOf(CompileFor(n));
    EXPECT_EQ(DifferenceOf(plan, expected), "") << n;
    const DispatchList list = ValueOf(BuildDispatches(plan_, device_));
    const auto specialized =
        SpecializeDispatches(plan_, list.pipelines, list.dispatches, *values, device_, 0);
    EXPECT_TRUE(specialized.has_value()) << n;
    std::vector<vulkan::PipelineDesc> pipelines = list.pipelines;
    for (const vulkan::PipelineDesc& added : specialized->pipelines) pipelines.push_back(added);
    EXPECT_EQ(DifferenceOf(specialized->dispatches, pipelines,
                           ValueOf(BuildDispatches(expected, device_))),
              "")
        << n;
    return true;
  }
  // Whether the plan of the compiler has the same structure.
  bool HasSameStructureFor(int64_t n) const {
    return HaveSameStructure(plan_, ValueOf(CompileFor(n)));
  }
  std::vector<int64_t> SizesWithThisPlan() const {
    std::vector<int64_t> sizes;
    for (int64_t n = 1; n <= kMax; ++n) {
      if (CheckFor(n)) sizes.push_back(n);
    }
    return sizes;
  }
  size_t DistinctCalls(int64_t n) const {
    return specializer_->Evaluate(graph_, std::vector{n}, tuned_.get())->evaluated.size();
  }
  // From now on, other kernels are the fastest.
  void Tune(session::TunedKernels tuned) {
    tuned_ = std::make_shared<const session::TunedKernels>(std::move(tuned));
  }

 private:
  Result<Plan> CompileFor(int64_t n, LoweringTrace* trace = nullptr) const {
    SPIRLOOM_TRY_ASSIGN(const Graph graph, Specialize(graph_, std::vector{n}));
    return Compile(graph, FakeIndex(), device_,
                   {.tuned = tuned_, .max_dispatches = 100, .trace = trace});
  }

  const DeviceTraits device_;
  const std::vector<std::byte> bytes_;
  const Graph graph_;
  std::shared_ptr<const session::TunedKernels> tuned_;
  Plan plan_;
  bool is_complete_ = false;
  std::optional<PlanSpecializer> specializer_;
};

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
    const Specialized plan(RandomGraph(seed), 1 + seed % kMaxSymbol, {}, device);
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
  const std::vector<int64_t> larger = {41};
  EXPECT_FALSE(specialized.specializer().Evaluate(specialized.graph(), larger, nullptr));
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
