// Models with states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "runtime/graph/model/states.h"
#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::IntArg;
using graph::NoneArg;
using graph::TensorArg;
using graph::TensorsArg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

uint32_t AddState(FileGraph& file, const std::string& name, std::vector<uint64_t> shape,
                  int initial = -1) {
  const uint32_t tensor = file.AddTensor(name, std::move(shape));
  file.states.push_back({tensor, tensor, initial});
  return tensor;
}

// total += x, initially [10, 20, 30]; y = 2 total.
FileGraph RunningSum() {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {3});
  file.AddConstant<float>("start", {3}, 0, {10, 20, 30});
  const uint32_t total = AddState(file, "total", {3}, 0);
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(total, x), {3});
  file.states[0].update = sum;
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(sum, sum), {3})};
  return file;
}

// h' = relu(w h + x), before' = h, and a window of the last three x; y = before + x.
FileGraph RecurrentLayer() {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {1, 2});
  const uint32_t h = AddState(file, "h", {1, 2});
  const uint32_t before = AddState(file, "before", {1, 2});
  const uint32_t window = AddState(file, "window", {3, 2});
  const uint32_t w = file.AddConstant<float>("w", {2, 2}, 0, {0, 1, 1, 0});
  const uint32_t product = AddNode(file, "aten.linear", LinearArgs(h, w, NoneArg()), {1, 2});
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(product, x), {1, 2});
  file.states[0].update = AddNode(file, "aten.relu", {TensorArg(sum)}, {1, 2});
  file.states[1].update = h;
  const uint32_t rest =
      AddNode(file, "aten.slice.Tensor",
              {TensorArg(window), IntArg(0), IntArg(1), IntArg(3), IntArg(1)}, {2, 2});
  file.states[2].update = AddNode(file, "aten.cat", {TensorsArg({rest, x}), IntArg(0)}, {3, 2});
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(before, x), {1, 2})};
  return file;
}

Floats StateOf(const Model& model, size_t i) {
  Floats values(model.states()[i].size / sizeof(float));
  const Status status = model.ReadState(i, std::as_writable_bytes(std::span(values)));
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

Status SetState(Model& model, size_t i, const Floats& values) {
  return model.WriteState(i, std::as_bytes(std::span(values)));
}

TEST_F(ModelTest, StatesPersistBetweenRuns) {
  for (Storage storage : kStorages) {
    Model model = ValueOf(Load(RunningSum(), storage));
    ASSERT_EQ(model.states().size(), 1u);
    EXPECT_EQ(model.states()[0].name, "total");
    EXPECT_EQ(model.states()[0].shape, (Shape{3}));
    EXPECT_GE(model.stats().state_bytes, 12u);
    EXPECT_THAT(StateOf(model, 0), ElementsAre(10, 20, 30));
    EXPECT_THAT(ValueOf(RunModel(model, {{1, 2, 3}})), ElementsAre(ElementsAre(22, 44, 66)));
    EXPECT_THAT(ValueOf(RunModel(model, {{1, 2, 3}})), ElementsAre(ElementsAre(24, 48, 72)));
    EXPECT_THAT(StateOf(model, 0), ElementsAre(12, 24, 36));
    ASSERT_TRUE(model.ResetStates().ok());
    EXPECT_THAT(ValueOf(RunModel(model, {{0, 0, 1}})), ElementsAre(ElementsAre(20, 40, 62)));
  }
}

TEST_F(ModelTest, StatesOfSeveralKinds) {
  for (Storage storage : kStorages) {
    Model model = ValueOf(Load(RecurrentLayer(), storage));
    Floats h{0, 0}, before{0, 0}, window(6);
    for (int run = 0; run < 5; ++run) {
      const auto n = static_cast<float>(run);
      const Floats x{n - 2, 3 - n};
      EXPECT_THAT(ValueOf(RunModel(model, {x})),
                  ElementsAre(ElementsAre(before[0] + x[0], before[1] + x[1])));
      before = h;
      h = {std::max(before[1] + x[0], 0.0f), std::max(before[0] + x[1], 0.0f)};
      window = {window[2], window[3], window[4], window[5], x[0], x[1]};
      EXPECT_EQ(StateOf(model, 0), h) << run;
      EXPECT_EQ(StateOf(model, 1), before) << run;
      EXPECT_EQ(StateOf(model, 2), window) << run;
    }
  }
}

TEST_F(ModelTest, StatesAreReadAndWritten) {
  Model one = ValueOf(Load(RunningSum())), two = ValueOf(Load(RunningSum()));
  ASSERT_TRUE(RunModel(one, {{1, 1, 1}}).ok());
  EXPECT_THAT(StateOf(two, 0), ElementsAre(10, 20, 30));  // separate
  ASSERT_TRUE(SetState(two, 0, StateOf(one, 0)).ok());
  EXPECT_THAT(ValueOf(RunModel(two, {{1, 1, 1}})), ElementsAre(ElementsAre(24, 44, 64)));
  EXPECT_THAT(StateOf(one, 0), ElementsAre(11, 21, 31));
  EXPECT_THAT(SetState(two, 1, {1}).message(),
              HasSubstr("State 1 does not exist. Number of states: 1."));
  EXPECT_THAT(SetState(two, 0, {1}).message(), HasSubstr("State 'total' has 12 bytes, not 4."));
}

TEST_F(ModelTest, StatesWaitForRunsInFlight) {
  Model one = ValueOf(Load(RunningSum())), two = ValueOf(Load(RunningSum()));
  const Floats x{1, 1, 1};
  const std::vector<std::span<const std::byte>> inputs{std::as_bytes(std::span(x))};
  for (int run = 0; run < 3; ++run) {
    PendingRun first = ValueOf(one.Submit(inputs));
    PendingRun second = ValueOf(two.Submit(inputs));
    EXPECT_EQ(one.Submit(inputs).status().code(), StatusCode::kBusy);
    EXPECT_EQ(one.ResetStates().code(), StatusCode::kBusy);
    EXPECT_EQ(SetState(one, 0, x).code(), StatusCode::kBusy);
    ASSERT_TRUE(second.Wait().ok());
    ASSERT_TRUE(first.Wait().ok());
  }
  EXPECT_THAT(StateOf(one, 0), ElementsAre(13, 23, 33));
  EXPECT_THAT(StateOf(two, 0), ElementsAre(13, 23, 33));
}

// Writes x, of [1, 2, 3], into a cache of five rows at a position that each run increments by 2;
// y = 2 cache, after the update, or before it with `read_before_update`.
FileGraph Cache(bool read_before_update = false) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {1, 2, 3});
  const uint32_t two = file.AddConstant<int32_t>("two", {1}, 2, {2});
  const uint32_t cache = AddState(file, "cache", {1, 5, 3});
  const uint32_t position = AddState(file, "position", {1});
  file.tensors[position].dtype = 2;
  const uint32_t updated = AddNode(
      file, "spirloom.cache_update",
      {TensorArg(cache), TensorArg(x), TensorArg(position), IntArg(1), graph::BoolArg(false)},
      {1, 5, 3});
  file.states[0].update = updated;
  file.states[1].update = AddNode(file, "aten.add.Tensor", AddArgs(position, two), {1});
  file.tensors[file.states[1].update].dtype = 2;
  const uint32_t read = read_before_update ? cache : updated;
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(read, read), {1, 5, 3})};
  return file;
}

TEST_F(ModelTest, StatesAreUpdatedInPlace) {
  Model model = ValueOf(Load(Cache()));
  EXPECT_EQ(model.stats().dispatches, 4u);  // update, y, position, copy of the position
  EXPECT_LT(model.stats().planned_bytes,
            ValueOf(Load(Cache(/*read_before_update=*/true))).stats().planned_bytes);
  Floats rows(15);
  for (size_t run = 0; run < 3; ++run) {  // the last run writes a single row
    const Floats x{1, 2, 3, 4, 5, static_cast<float>(run)};
    for (size_t i = 0; i < 6 && 6 * run + i < 15; ++i) rows[6 * run + i] = x[i];
    const Floats y = ValueOf(RunModel(model, {x}))[0];
    for (size_t i = 0; i < 15; ++i) EXPECT_EQ(y[i], 2 * rows[i]) << run;
    EXPECT_EQ(StateOf(model, 0), rows);
  }
  ASSERT_TRUE(model.ResetStates().ok());
  EXPECT_EQ(StateOf(model, 0), Floats(15));
}

TEST_F(ModelTest, StatesReadAfterTheirUpdateAreCopied) {
  Model model = ValueOf(Load(Cache(/*read_before_update=*/true)));
  EXPECT_EQ(model.stats().dispatches, 6u);
  const Floats x{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(ValueOf(RunModel(model, {x}))[0], Floats(15));
  Floats twice(15);
  for (size_t i = 0; i < 6; ++i) twice[i] = 2 * x[i];
  EXPECT_EQ(ValueOf(RunModel(model, {x}))[0], twice);
}

// total += the sum of the rows of x, of [n, 3].
FileGraph Resizable() {
  FileGraph file;
  file.symbols = {{"n", 1, 4}};
  file.sizes = {{{{1, {0}}}, 1}};
  const uint32_t x = AddInput(file, "x", {4, 3});
  file.tensors[x].sizes = {1, 0};
  const uint32_t total = AddState(file, "total", {1, 3});
  const uint32_t sum = AddNode(file, "aten.sum.dim_IntList",
                               {TensorArg(x), graph::IntsArg({0}), graph::BoolArg(true)}, {1, 3});
  file.tensors[sum].sizes = {UINT32_MAX, UINT32_MAX};
  file.states[0].update = AddNode(file, "aten.add.Tensor", AddArgs(total, sum), {1, 3});
  file.tensors[file.states[0].update].sizes = {UINT32_MAX, UINT32_MAX};
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(x)}, {4, 3})};
  file.tensors[file.outputs[0]].sizes = {1, 0};
  return file;
}

TEST_F(ModelTest, StatesPersistWhenSizesChange) {
  Model model = ValueOf(Load(Resizable()));
  float expected = 0;
  for (int64_t rows : {4, 1, 3, 4, 1}) {
    const std::vector<Shape> shapes{{rows, 3}};
    ASSERT_TRUE(model.Resize(shapes).ok());
    ASSERT_TRUE(RunModel(model, {Floats(static_cast<size_t>(rows) * 3, 1)}).ok());
    expected += static_cast<float>(rows);
    EXPECT_THAT(StateOf(model, 0), ElementsAre(expected, expected, expected));
  }
}

TEST_F(ModelTest, RejectsAnUpdateOfDynamicSize) {
  FileGraph file = Resizable();
  AddState(file, "last", {4, 3});
  file.states[1].update = file.outputs[0];
  Model model = ValueOf(Load(file));
  const std::vector<Shape> shapes{{2, 3}};
  EXPECT_THAT(model.Resize(shapes).message(),
              HasSubstr("State 'last' is float32 [4, 3], but its update is float32 [2, 3]."));
}

TEST_F(ModelTest, PartsOfStates) {
  const Model model = ValueOf(Load(RunningSum()));
  float last = 0;
  const auto bytes = std::as_writable_bytes(std::span(&last, 1));
  ASSERT_TRUE(model.ReadState(0, 8, bytes).ok());
  EXPECT_EQ(last, 30);
  EXPECT_TRUE(model.ReadState(0, 12, bytes.first(0)).ok());
  EXPECT_EQ(model.ReadState(0, 9, bytes).message(),
            "Range of 4 bytes from byte 9 on exceeds state 'total' of 12 bytes.");
  EXPECT_EQ(model.ReadState(0, SIZE_MAX, bytes).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(model.ReadState(1, 0, bytes).code(), StatusCode::kInvalidArgument);
}

TEST_F(ModelTest, StatesInUnmappedMemory) {
  for (const auto& file : {RunningSum(), RecurrentLayer()}) {
    const std::vector<std::byte> bytes = file.Write();
    const auto state = ValueOf(LoadContext(*runtime_, bytes, internal::HostAccess::kStaged));
    Floats start(state->compiled().state_infos[0].size / 4), values(start.size());
    const auto read = [&](Floats& target) {
      return internal::ReadState(*state, 0, std::as_writable_bytes(std::span(target)));
    };
    ASSERT_TRUE(read(start).ok());
    const Floats x{1, 2, 3};
    const std::vector<std::span<const std::byte>> inputs{
        std::as_bytes(std::span(x)).first(state->current().inputs[0].size)};
    Floats y(x.size());
    const std::vector<std::span<std::byte>> outputs{
        std::as_writable_bytes(std::span(y)).first(state->current().outputs[0].size)};
    ASSERT_TRUE(internal::RunModel(*state, inputs, outputs).ok());
    ASSERT_TRUE(read(values).ok());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], start[i] + x[i]);
    const auto last = std::as_writable_bytes(std::span(values)).first(sizeof(float));
    ASSERT_TRUE(internal::ReadState(*state, 0, (values.size() - 1) * sizeof(float), last).ok());
    EXPECT_EQ(values.front(), values.back());
    ASSERT_TRUE(
        internal::WriteState(*state, 0, std::as_bytes(std::span(y)).first(4 * start.size())).ok());
    ASSERT_TRUE(read(values).ok());
    EXPECT_EQ(values, Floats(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(start.size())));
    ASSERT_TRUE(internal::ResetStates(*state).ok());
    ASSERT_TRUE(read(values).ok());
    EXPECT_EQ(values, start);
  }
}

// The host reads and writes a state above 64 KiB by staging buffers, which the memory limit covers.
TEST_F(ModelTest, LargeStatesInUnmappedMemory) {
  constexpr uint64_t kCount = 50'000, kKiB = 1024;
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {1});
  const uint32_t total = AddState(file, "total", {kCount});
  file.states[0].update = AddNode(file, "aten.add.Tensor", AddArgs(total, x), {kCount});
  const std::vector<std::byte> bytes = file.Write();
  const auto load = [&](uint64_t limit) {
    ModelOptions options;
    options.max_device_bytes = limit;
    return LoadContext(*runtime_, bytes, internal::HostAccess::kStaged, options);
  };
  uint64_t limit = 4 * kCount;  // as little as loads, and no staging buffer above 64 KiB
  while (!load(limit).ok()) limit += 16 * kKiB;
  const auto context = ValueOf(load(limit + 64 * kKiB));
  const vulkan::Device& device = context->device();
  Floats written(kCount), read(kCount);
  std::iota(written.begin(), written.end(), 1.0F);
  ASSERT_TRUE(internal::WriteState(*context, 0, std::as_bytes(std::span(written))).ok());
  const auto all = std::as_writable_bytes(std::span(read));
  ASSERT_TRUE(internal::ReadState(*context, 0, all).ok());
  EXPECT_EQ(read, written);
  for (const size_t i : {size_t{0}, size_t{17'000}, size_t{kCount - 1}}) {
    float value = 0;
    const auto part = std::as_writable_bytes(std::span(&value, 1));
    const uint64_t submits = device.counters().submits.load();
    ASSERT_TRUE(internal::ReadState(*context, 0, i * sizeof(float), part).ok());
    EXPECT_EQ(device.counters().submits.load(), submits + 1);
    EXPECT_EQ(value, written[i]);
  }
  ASSERT_TRUE(internal::ResetStates(*context).ok());
  ASSERT_TRUE(internal::ReadState(*context, 0, all).ok());
  EXPECT_EQ(read, Floats(kCount));
  EXPECT_THAT(internal::ReadState(*ValueOf(load(limit)), 0, all).message(),
              HasSubstr("exceeds the limit"));
}

TEST_F(ModelTest, EmptyAndScalarStates) {
  FileGraph file;
  const uint32_t empty = AddState(file, "empty", {0, 3});
  const uint32_t count = AddState(file, "count", {});
  const uint32_t one = file.AddConstant<float>("one", {}, 0, {1});
  file.states[0].update = AddNode(file, "aten.relu", {TensorArg(empty)}, {0, 3});
  file.states[1].update = AddNode(file, "aten.add.Tensor", AddArgs(count, one), {});
  Model model = ValueOf(Load(file));
  for (float run : {1.0f, 2.0f}) {
    ASSERT_TRUE(RunModel(model, {}).ok());
    EXPECT_THAT(StateOf(model, 1), ElementsAre(run));
  }
  EXPECT_THAT(StateOf(model, 0), ElementsAre());
}

}  // namespace
}  // namespace spirloom
