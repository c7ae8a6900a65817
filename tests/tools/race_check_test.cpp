// Races, uninitialized reads and wrong aliases: planted faults are found and named.
#include "tools/races/race_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/model_fixture.h"
#include "tests/value_of.h"
#include "tools/races/dispatch_order.h"

namespace spirloom::tools {
namespace {

using graph::FileGraph;
using graph::TensorArg;
using internal::ExecutionContext;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Context = std::shared_ptr<ExecutionContext>;

// first = relu(x); second = neg(first); y = first + second = 0.
FileGraph Diamond() {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {4, 16});
  const uint32_t first = AddNode(file, "aten.relu", {TensorArg(x)}, {4, 16});
  const uint32_t second = AddNode(file, "aten.neg", {TensorArg(first)}, {4, 16});
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(first, second), {4, 16})};
  return file;
}

// Allocates the activations again as if the first one were not used after its first reader.
Status ShortenLifetime(ExecutionContext& context) {
  const std::shared_ptr<const internal::CompiledGraph> compiled = context.current().compiled;
  auto& lifetimes = const_cast<internal::CompiledGraph&>(*compiled).lifetimes;
  const auto first = std::ranges::min_element(lifetimes, {}, &graph::TensorLifetime::first);
  first->last = first->first;
  return internal::Record(context, internal::Compilation{compiled});
}

class RaceCheckTest : public ModelTest {
 protected:
  static Result<RaceReport> Check(const FileGraph& file, Status (*change)(ExecutionContext&)) {
    const std::vector<std::byte> bytes = file.Write();
    const auto load = [&](graph::TensorWatch* watch) -> Result<Context> {
      const graph::GraphSource source{/*owner=*/nullptr, bytes};
      SPIRLOOM_TRY_ASSIGN(auto graph, source.Parse());
      internal::DeviceConfig config = internal::DeviceConfig::Of(*runtime_->state());
      config.watch = watch;
      SPIRLOOM_TRY_ASSIGN(Context context,
                          internal::LoadContext(runtime_->state(), source, std::move(graph),
                                                ModelOptions{}, config));
      if (watch == nullptr && change != nullptr) SPIRLOOM_TRY(change(*context));
      return context;
    };
    Floats x(64);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
    const std::span<const std::byte> inputs[] = {std::as_bytes(std::span(x))};
    return CheckRaces(load, inputs, /*orders=*/2);
  }
};

TEST_F(RaceCheckTest, AcceptsACorrectPlan) {
  const RaceReport report = ValueOf(Check(Diamond(), nullptr));
  EXPECT_TRUE(report.faults.empty()) << Describe(report);
  EXPECT_EQ(report.dispatches, 3U);
  EXPECT_EQ(report.orders, 2U);
}

TEST_F(RaceCheckTest, NamesTheNodesOfAWrongAlias) {
  const RaceReport report = ValueOf(Check(Diamond(), ShortenLifetime));
  ASSERT_EQ(report.faults.size(), 1U) << Describe(report);
  EXPECT_EQ(report.faults[0].kind, RaceKind::kAliasing);
  const std::string text = Describe(report);
  EXPECT_THAT(text, HasSubstr("First node with a different result: 't3' (aten.add.Tensor, "));
  EXPECT_THAT(text, HasSubstr("An operand was overwritten by node 't2'"));
}

// 0 writes tensor 0; 1 and 2 read it and write 1 and 2; 3 reads both, writes 3.
std::vector<DispatchAccess> DiamondAccesses() {
  return {{{}, {{0, 0, 8}}},
          {{{0, 0, 8}}, {{1, 0, 8}}},
          {{{0, 0, 8}}, {{2, 0, 8}}},
          {{{1, 0, 8}, {2, 0, 8}}, {{3, 0, 8}}}};
}

TEST(DispatchOrderTest, PermutesOnlyIndependentDispatches) {
  bool exchanged = false;
  for (uint32_t seed = 0; seed < 16; ++seed) {
    const std::vector<uint32_t> order = PermutedOrder(DiamondAccesses(), seed);
    ASSERT_EQ(order.size(), 4U);
    EXPECT_EQ(order.front(), 0U);
    EXPECT_EQ(order.back(), 3U);
    EXPECT_EQ(order, PermutedOrder(DiamondAccesses(), seed));
    exchanged |= order[1] == 2;
  }
  EXPECT_TRUE(exchanged);
}

TEST(DispatchOrderTest, WritesToDisjointRangesAreIndependent) {
  const std::vector<DispatchAccess> disjoint{{{}, {{0, 0, 8}}}, {{}, {{0, 8, 16}}}};
  const std::vector<DispatchAccess> common{{{}, {{0, 0, 9}}}, {{}, {{0, 8, 16}}}};
  bool exchanged = false;
  for (uint32_t seed = 0; seed < 16; ++seed) {
    exchanged |= PermutedOrder(disjoint, seed).front() == 1;
    EXPECT_THAT(PermutedOrder(common, seed), ElementsAre(0, 1));
  }
  EXPECT_TRUE(exchanged);
}

TEST(FindCauseTest, FollowsDifferentOperands) {
  const std::vector<DispatchAccess> accesses = DiamondAccesses();
  const TensorRange result{3, 0, 8};
  EXPECT_EQ(FindCause(accesses, {1, 2, 3, 4}, {1, 2, 7, 8}, result), 2U);
  EXPECT_EQ(FindCause(accesses, {1, 2, 3, 4}, {1, 2, 3, 8}, result), 3U);
  EXPECT_EQ(FindCause(accesses, {1, 2, 3, 4}, {5, 6, 7, 8}, result), 0U);
  EXPECT_EQ(FindCause(accesses, {1, 2, 3, 4}, {1, 2, 7, 4}, result), std::nullopt)
      << "the result does not depend on what differs";
}

}  // namespace
}  // namespace spirloom::tools
