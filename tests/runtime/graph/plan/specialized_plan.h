// Plans with the symbol n that are specialized, and compared with those of the compiler.
#ifndef SPIRLOOM_TESTS_RUNTIME_GRAPH_PLAN_SPECIALIZED_PLAN_H_
#define SPIRLOOM_TESTS_RUNTIME_GRAPH_PLAN_SPECIALIZED_PLAN_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/file/specialize.h"
#include "runtime/graph/plan/plan_specializer.h"
#include "runtime/graph/plan/verify_plan.h"
#include "runtime/graph/record/dispatch.h"
#include "tests/runtime/graph/plan/lowering_fixture.h"
#include "tests/support/plan_difference.h"

namespace spirloom::graph {

using ::spirloom::testing::DifferenceOf;

inline constexpr int64_t kMax = 64;

inline DeviceTraits Device() {
  DeviceTraits device;
  device.buffer_offset_alignment = 64;  // bytes, 16 elements
  return device;
}

// The size expressions of graphs with the symbol n, as indices of FileTensor::sizes and Arg::sizes.
inline constexpr uint32_t kN = 1;

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
  // An int argument whose value is factor * n + offset.
  Arg Linear(int64_t factor, int64_t offset) {
    file.sizes.push_back({{{factor, {0}}, {offset, {}}}, 1});
    Arg arg = IntArg(factor * kMax + offset);
    arg.sizes = {static_cast<uint32_t>(file.sizes.size())};
    return arg;
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
inline bool HaveSameStructure(const Plan& a, const Plan& b) {
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

  std::optional<PlanValues> Evaluate(int64_t n) const {
    return specializer_->Evaluate(graph_, std::vector{n}, tuned_.get());
  }
  // Whether the plan can be specialized. The result must equal the plan of the compiler.
  bool CheckFor(int64_t n) const {
    const std::optional<PlanValues> values = Evaluate(n);
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
  size_t DistinctCalls(int64_t n) const { return Evaluate(n)->evaluated.size(); }
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

}  // namespace spirloom::graph

#endif  // SPIRLOOM_TESTS_RUNTIME_GRAPH_PLAN_SPECIALIZED_PLAN_H_
