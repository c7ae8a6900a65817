// Tensors that alias a range of another tensor's buffer: concatenated tensors, and contiguous
// views.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/graph/plan/concat_elision.h"
#include "runtime/graph/record/dispatch.h"
#include "tests/support/fake_library/fake_library.h"
#include "tests/support/graph_file_builder.h"

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
  uint32_t Concat(std::vector<uint32_t> parts, uint64_t size) {
    return Call("test.concat", {TensorsArg(std::move(parts))}, size);
  }
  uint32_t Slice(uint32_t x, int64_t first, uint64_t count, int64_t step = 1) {
    return Call("test.slice",
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
    Result<Plan> plan = graph::Compile(*graph, FakeIndex(), device, {.storage = storage});
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

  // The buffer and offset in bytes of a tensor of the graph, as "name+offset".
  std::string LocationOf(uint32_t graph_tensor) const {
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

TEST_F(Parts, ConcatenatedTensorsAliasTheResult) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t b = Sum(x, 32);
  const uint32_t result = Concat({a, b}, 64);
  Lower({Sum(result, 64)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "sum", "sum"));
  EXPECT_EQ(LocationOf(a), LocationOf(result));
  EXPECT_EQ(LocationOf(b), "t3+128");
  EXPECT_EQ(plan_.aliased_views, 1u);
}

TEST_F(Parts, NestedAliasesAddTheirOffsets) {
  const uint32_t x = Input(16);
  const uint32_t a = Sum(x, 16);
  const uint32_t b = Sum(x, 16);
  const uint32_t inner = Concat({a, b}, 32);
  const uint32_t c = Sum(x, 16);
  const uint32_t view = Slice(inner, 16, 16);
  const uint32_t outer = Concat({c, inner}, 48);
  Lower({Sum(outer, 48), Sum(view, 16)});
  EXPECT_EQ(LocationOf(inner), "t6+64");
  EXPECT_EQ(LocationOf(b), "t6+128");
  EXPECT_EQ(LocationOf(view), "t6+128");
}

TEST_F(Parts, AShorterConcatenationAliasesALongerOne) {
  const uint32_t x = Input(16);
  const uint32_t a = Sum(x, 16);
  const uint32_t b = Sum(x, 16);
  const uint32_t shorter = Concat({a, b}, 32);
  const uint32_t c = Sum(shorter, 32);
  const uint32_t longer = Concat({a, b, c}, 64);
  Lower({Sum(longer, 64)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "sum", "sum", "sum"));
  EXPECT_EQ(LocationOf(shorter), "t5+0");
}

TEST_F(Parts, TensorsThatCannotAliasTheResultAreCopied) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t result = Concat({a, a, x}, 96);  // a has a single location; x is an input
  Lower({Sum(result, 96)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "concat", "concat", "sum"));
}

TEST_F(Parts, OffsetsBeyondTheResultAreCopied) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t b = Sum(x, 32);
  const uint32_t result = Call("test.overflowing_concat", {TensorsArg({a, b})}, 64);
  Lower({Sum(result, 64)});
  EXPECT_EQ(LocationOf(a), "t1+0");
  EXPECT_EQ(LocationOf(b), "t2+0");
  EXPECT_EQ(plan_.aliased_views, 0u);
}

TEST_F(Parts, OutputsOfTheGraphDoNotAlias) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t result = Concat({a}, 32);
  Lower({a, result});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "concat"));
}

TEST_F(Parts, MisalignedOffsetsAreCopied) {
  const uint32_t x = Input(24);
  const uint32_t a = Sum(x, 24);  // 96 bytes: the next offset is not a multiple of 64
  const uint32_t b = Sum(x, 24);
  const uint32_t padded =
      Sum(Input(23), 23);  // not a multiple of 16 bytes: kernels may write padding
  const uint32_t result = Concat({a, b, padded}, 71);
  Lower({Sum(result, 71)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "sum", "sum", "concat", "concat", "sum"));
}

TEST_F(Parts, AContiguousSliceIsAView) {
  const uint32_t x = Input(64);
  const uint32_t view = Slice(x, 16, 20);
  const uint32_t nested = Slice(view, 16, 3);
  const uint32_t misaligned = Slice(x, 5, 20);
  const uint32_t every_other = Slice(x, 0, 20, 2);
  Lower({Sum(nested, 3), Sum(misaligned, 20), Sum(every_other, 20)});
  EXPECT_EQ(LocationOf(view), "x0+64");
  EXPECT_EQ(LocationOf(nested), "x0+128");
  EXPECT_THAT(dispatched_, ElementsAre("slice", "slice", "sum", "sum", "sum"));
}

TEST_F(Parts, AViewMayStartWithItsSourceAndBeEmpty) {
  const uint32_t x = Input(64);
  const uint32_t y = Sum(x, 64);
  const uint32_t first = Slice(y, 0, 16);
  const uint32_t one = Slice(y, 16, 1);
  const uint32_t empty = Slice(y, 16, 0);
  Lower({Sum(first, 16), Sum(one, 1), Sum(empty, 0)});
  EXPECT_EQ(LocationOf(first), LocationOf(y));
  EXPECT_EQ(LocationOf(one), "t1+64");
  EXPECT_EQ(LocationOf(empty), "t4+0");
}

// Copies to textures require a kernel.
TEST_F(Parts, ViewsBetweenBuffersAndTexturesAreComputed) {
  const uint32_t x = Input(64);
  const uint32_t y = Sum(x, 64);
  const uint32_t texture = Slice(y, 16, 16);
  file_.tensors[texture].storage = static_cast<int>(Storage::kTexture3D);
  Lower({Sum(texture, 16)});
  EXPECT_EQ(std::ranges::count(dispatched_, "slice"), 1);
}

TEST_F(Parts, PartsOfAnAliasedConcatenationAreNotCopied) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t empty = Sum(Slice(x, 0, 0), 0);
  Lower({Sum(Concat({a, empty}, 32), 32)});
  EXPECT_EQ(LocationOf(empty), "t3+0") << "no memory";
  EXPECT_EQ(LocationOf(a), "t4+0");
}

TEST_F(Parts, AnOutputDoesNotAliasALongerConcatenation) {
  const uint32_t x = Input(16);
  const uint32_t a = Sum(x, 16);
  const uint32_t b = Sum(x, 16);
  const uint32_t shorter = Concat({a, b}, 32);
  const uint32_t longer = Concat({a, b, Sum(x, 16)}, 48);
  Lower({shorter, Sum(longer, 48)});
  EXPECT_EQ(LocationOf(shorter), "t3+0");
  Lower({longer, Sum(shorter, 32)});
  EXPECT_EQ(LocationOf(shorter), "t5+0") << "of which it is a part";
}

TEST_F(Parts, AConcatenationOfPartsOfSeveralTensorsIsCopied) {
  const uint32_t x = Input(16);
  const uint32_t a = Sum(x, 16);
  const uint32_t b = Sum(x, 16);
  const uint32_t shorter = Concat({a, b}, 32);
  Lower({Sum(shorter, 32), Sum(Concat({a, x}, 32), 32), Sum(Concat({x, b}, 32), 32)});
  EXPECT_EQ(std::ranges::count(dispatched_, "concat"), 4);
}

// A part that exceeds the output is not aliased to it, whatever the formula of its offset.
TEST_F(Parts, PartsBeyondTheEndAreCopied) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t b = Sum(x, 32);
  Lower({Sum(Concat({a, b}, 64), 64)});
  for (const int64_t offset : {48, 100}) {
    for (PlanTensor& tensor : plan_.tensors) {
      tensor.alias_of = kNoTensor;
      tensor.alias_offset = 0;
    }
    plan_.nodes[2].dispatches[1].concat_offset = offset;
    DeviceTraits device;
    device.buffer_offset_alignment = kAlignment;
    ElideConcats(plan_, device);
    EXPECT_EQ(plan_.nodes[2].in_place, (std::vector<bool>{true, false}));
  }
}

TEST_F(Parts, AViewIsCopiedToAnOutput) {
  const uint32_t x = Input(64);
  const uint32_t y = Sum(x, 64);
  Lower({y, Slice(y, 16, 16)});
  EXPECT_THAT(dispatched_, ElementsAre("sum", "bytes"));
}

TEST_F(Parts, TexturesDoNotAlias) {
  const uint32_t x = Input(32);
  const uint32_t a = Sum(x, 32);
  const uint32_t result = Concat({a, a}, 64);
  Lower({Sum(Slice(result, 0, 32), 32)}, Storage::kTexture3D);
  EXPECT_EQ(std::ranges::count(dispatched_, "concat"), 2);
  EXPECT_EQ(std::ranges::count(dispatched_, "slice"), 1);
}

}  // namespace
}  // namespace spirloom::graph
