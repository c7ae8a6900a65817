// Tensors that live in a part of another one's buffer: joined ones and views of a run of elements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/lowering.h"
#include "runtime/graph/record/dispatch.h"
#include "tests/unit/fake_library/fake_library.h"
#include "tests/unit/graph_file_builder.h"

namespace spirloom::graph {
namespace {

using ::spirloom::testing::FakeIndex;
using ::testing::ElementsAre;

constexpr uint64_t kAlignment = 64;  // bytes, 16 elements

class Parts : public ::testing::Test {
 protected:
  uint32_t Call(const std::string& op, std::vector<Arg> args, uint64_t size) {
    const std::string name = "t" + std::to_string(file_.tensors.size());
    const uint32_t y = file_.AddTensor(name, {size});
    file_.nodes.push_back({op, std::move(args), {y}, name});
    return y;
  }
  uint32_t Input(uint64_t size) {
    file_.inputs.push_back(file_.AddTensor("x" + std::to_string(file_.inputs.size()), {size}));
    return file_.inputs.back();
  }
  uint32_t Sum(uint32_t x, uint64_t size) { return Call("test.sum", {TensorArg(x)}, size); }
  uint32_t Join(std::vector<uint32_t> parts, uint64_t size) {
    return Call("test.join", {TensorsArg(std::move(parts))}, size);
  }
  uint32_t Part(uint32_t x, int64_t first, uint64_t count, int64_t step = 1) {
    return Call("test.part",
                {TensorArg(x), IntArg(first), IntArg(static_cast<int64_t>(count)), IntArg(step)},
                count);
  }

  void Lower(std::vector<uint32_t> outputs, Storage storage = Storage::kBuffer) {
    file_.outputs = std::move(outputs);
    const std::vector<std::byte> bytes = file_.Write();
    const Result<Graph> graph = ParseGraph(bytes);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    DeviceTraits device;
    device.buffer_offset_alignment = kAlignment;
    Result<Plan> plan = graph::Lower(*graph, FakeIndex(), device, {.storage = storage});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    plan_ = std::move(plan).value();
    const Result<DispatchList> list = BuildDispatches(plan_, device);
    ASSERT_TRUE(list.ok()) << list.status().message();
    dispatched_.clear();
    for (const Dispatch& dispatch : list->dispatches) {
      const PlanNode& node = plan_.nodes[dispatch.node];
      dispatched_.push_back(node.op == nullptr ? "bytes" : node.kernel->name);
    }
  }

  // Where the graph's tensor lives: "name+offset".
  std::string HomeOf(uint32_t graph_tensor) const {
    for (const PlanTensor& tensor : plan_.tensors) {
      if (tensor.name != file_.tensors[graph_tensor].name) continue;
      const bool is_root = tensor.alias_of == kNoTensor;
      const PlanTensor& root = is_root ? tensor : plan_.tensors[tensor.alias_of];
      return root.name + "+" + std::to_string(tensor.alias_offset);
    }
    return "";
  }

  FileGraph file_;
  Plan plan_;
  std::vector<std::string> dispatched_;
};

TEST_F(Parts, JoinedTensorsLiveInTheWhole) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t b = Sum(x, 32);
  const uint32_t whole = Join({a, b}, 64);
  Lower({Sum(whole, 64)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "sum", "sum"));
  EXPECT_EQ(HomeOf(a), HomeOf(whole));
  EXPECT_EQ(HomeOf(b), "t3+128");
  EXPECT_EQ(plan_.aliased_views, 1u);
}

TEST_F(Parts, PartsOfPartsAreFoundWhereTheyAre) {
  const uint32_t x = Input(16);
  const uint32_t a = Sum(x, 16);
  const uint32_t b = Sum(x, 16);
  const uint32_t inner = Join({a, b}, 32);
  const uint32_t c = Sum(x, 16);
  const uint32_t view = Part(inner, 16, 16);
  const uint32_t outer = Join({c, inner}, 48);
  Lower({Sum(outer, 48), Sum(view, 16)});
  EXPECT_EQ(HomeOf(inner), "t6+64");
  EXPECT_EQ(HomeOf(b), "t6+128");
  EXPECT_EQ(HomeOf(view), "t6+128");
}

TEST_F(Parts, AShorterJoinLivesInALongerOne) {
  const uint32_t x = Input(16);
  const uint32_t a = Sum(x, 16);
  const uint32_t b = Sum(x, 16);
  const uint32_t shorter = Join({a, b}, 32);
  const uint32_t c = Sum(shorter, 32);
  const uint32_t longer = Join({a, b, c}, 64);
  Lower({Sum(longer, 64)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "sum", "sum", "sum"));
  EXPECT_EQ(HomeOf(shorter), "t5+0");
}

TEST_F(Parts, WhatIsNeededElsewhereIsCopied) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t whole = Join({a, a, x}, 96);  // a can live in one place; x is the caller's
  Lower({Sum(whole, 96)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "join", "join", "sum"));
}

TEST_F(Parts, AnOutputOfTheGraphIsNoPart) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t whole = Join({a}, 32);
  Lower({a, whole});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "join"));
}

TEST_F(Parts, PlacesThatBindingsCannotBeginAtAreCopiedTo) {
  const uint32_t x = Input(24);
  const uint32_t a = Sum(x, 24);  // 96 bytes: what follows would begin at no multiple of 64
  const uint32_t b = Sum(x, 24);
  const uint32_t odd =
      Sum(Input(23), 23);  // no multiple of 16 bytes: a kernel could write beyond its end
  const uint32_t whole = Join({a, b, odd}, 71);
  Lower({Sum(whole, 71)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "sum", "sum", "join", "join", "sum"));
}

TEST_F(Parts, ARunOfElementsIsAView) {
  const uint32_t x = Input(64);
  const uint32_t view = Part(x, 16, 20);
  const uint32_t within = Part(view, 16, 3);
  const uint32_t crooked = Part(x, 5, 20);
  const uint32_t every_other = Part(x, 0, 20, 2);
  Lower({Sum(within, 3), Sum(crooked, 20), Sum(every_other, 20)});
  EXPECT_EQ(HomeOf(view), "x0+64");
  EXPECT_EQ(HomeOf(within), "x0+128");
  EXPECT_THAT(dispatched_, ElementsAre("part", "part", "sum", "sum", "sum"));
}

TEST_F(Parts, AViewOfAPartIsCopiedToAnOutput) {
  const uint32_t x = Input(64);
  const uint32_t y = Sum(x, 64);
  Lower({y, Part(y, 16, 16)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "bytes"));
}

TEST_F(Parts, TexturesHaveNoParts) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t whole = Join({a, a}, 64);
  Lower({Sum(Part(whole, 0, 32), 32)}, Storage::kTexture3D);
  EXPECT_EQ(std::ranges::count(dispatched_, "join"), 2);
  EXPECT_EQ(std::ranges::count(dispatched_, "part"), 1);
}

}  // namespace
}  // namespace spirloom::graph
