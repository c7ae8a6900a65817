// Contexts of one model: several runs in flight over the same weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::NoneArg;
using graph::TensorArg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kWidth = 96;

// total += x w^T; y = total. w is twice the identity, so the sums are exact.
FileGraph Accumulator(uint64_t rows = 1) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {rows, kWidth});
  Floats values(kWidth * kWidth);
  for (size_t i = 0; i < kWidth; ++i) values[i * kWidth + i] = 2;
  const uint32_t w = file.AddConstant<float>("w", {kWidth, kWidth}, 0, values);
  const uint32_t total = file.AddTensor("total", {rows, kWidth});
  file.states.push_back({total, total});
  const uint32_t product =
      AddNode(file, "aten.linear", LinearArgs(x, w, NoneArg()), {rows, kWidth});
  file.states[0].update = AddNode(file, "aten.add.Tensor", AddArgs(total, product), {rows, kWidth});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(file.states[0].update)}, {rows, kWidth})};
  return file;
}

// y = relu(x w^T) for a batch of 1 to 16 rows; w is twice the identity.
FileGraph Dynamic() {
  FileGraph file;
  file.symbols = {{"batch", 1, 16}};
  file.sizes = {{{{1, {0}}}, 1}};
  const uint32_t x = AddInput(file, "x", {16, kWidth});
  Floats values(kWidth * kWidth);
  for (size_t i = 0; i < kWidth; ++i) values[i * kWidth + i] = 2;
  const uint32_t w = file.AddConstant<float>("w", {kWidth, kWidth}, 0, values);
  const uint32_t product = AddNode(file, "aten.linear", LinearArgs(x, w, NoneArg()), {16, kWidth});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(product)}, {16, kWidth})};
  for (const uint32_t tensor : {x, product, file.outputs[0]}) file.tensors[tensor].sizes = {1, 0};
  return file;
}

class ContextsTest : public ModelTest {
 protected:
  static Floats Run(Model& model, float x) {
    return ValueOf(RunModel(model, {Floats(model.inputs()[0].size / 4, x)}))[0];
  }
  // All elements of a run's output.
  static Floats All(const Model& model, float value) {
    return Floats(model.outputs()[0].size / 4, value);
  }
};

// Calls `work(context, thread)` on four threads, each with a context of its own. Returns the number
// of threads on which it returned false or CreateContext() failed.
int FailuresOnThreads(Model& model, const std::function<bool(Model&, int)>& work) {
  constexpr int kThreads = 4;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Result<Model> context = model.CreateContext();
      if (!context.ok() || !work(*context, thread)) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

TEST_F(ContextsTest, ShareWeightsAndPlans) {
  Model first = ValueOf(Load(Accumulator()));
  const uint64_t pipelines = Counters().pipelines;
  const uint64_t bytes = Counters().allocated_bytes;
  std::vector<Model> contexts;
  for (int i = 0; i < 4; ++i) contexts.push_back(ValueOf(first.CreateContext()));
  EXPECT_EQ(Counters().pipelines, pipelines);
  EXPECT_LT(Counters().allocated_bytes - bytes, 4 * kWidth * kWidth) << "no weight is copied";
  for (const Model& context : contexts) {
    EXPECT_EQ(context.stats().constant_bytes, 0u);
    EXPECT_EQ(context.stats().pipeline_ns, 0u);
    EXPECT_EQ(context.stats().state_bytes, first.stats().state_bytes);
    EXPECT_EQ(context.stats().dispatches, first.stats().dispatches);
  }
}

TEST_F(ContextsTest, HaveOneRunInFlightEach) {
  Model first = ValueOf(Load(Accumulator()));
  Model second = ValueOf(first.CreateContext());
  const Floats ones(kWidth, 1), threes(kWidth, 3);
  const std::vector<std::span<const std::byte>> one{std::as_bytes(std::span(ones))};
  const std::vector<std::span<const std::byte>> three{std::as_bytes(std::span(threes))};
  Floats y(kWidth), z(kWidth);
  const std::vector<std::span<std::byte>> ys{std::as_writable_bytes(std::span(y))};
  const std::vector<std::span<std::byte>> zs{std::as_writable_bytes(std::span(z))};
  for (int run = 1; run <= 3; ++run) {
    PendingRun a = ValueOf(first.Submit(one));
    PendingRun b = ValueOf(second.Submit(three));
    EXPECT_THAT(first.Submit(one).status().message(), HasSubstr("create a context"));
    EXPECT_TRUE(first.CreateContext().ok()) << "during a run";
    ASSERT_TRUE(b.Wait(zs).ok());
    EXPECT_EQ(z, Floats(kWidth, 6.0f * static_cast<float>(run)));
    EXPECT_TRUE(second.ResetStates().ok()) << "states are separate: the other run is in flight";
    second = ValueOf(second.CreateContext());
    ASSERT_TRUE(a.Wait(ys).ok());
    EXPECT_EQ(y, Floats(kWidth, 2.0f * static_cast<float>(run)));
    for (int i = 1; i <= run; ++i) Run(second, 3);
  }
}

// The log function of a compilation does not return before another context has switched between
// sizes that it knows. aten.cumsum has only kernels for buffers, which is logged.
TEST_F(ContextsTest, KnownSizesDoNotWaitForACompilation) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_armed = false, is_compiling = false, has_switched = false, switched_meanwhile = false;
  const auto compiles = [&](LogLevel, std::string_view text) {
    std::unique_lock lock(mutex);
    if (!is_armed || text.find("in another storage") == std::string_view::npos) return;
    is_compiling = true;
    changed.notify_all();
    switched_meanwhile =
        changed.wait_for(lock, std::chrono::seconds(30), [&] { return has_switched; });
  };
  const Runtime runtime = ValueOf(
      Runtime::Create({.libraries = {&AllShaders()}, .cache_dir = "none", .log = compiles}));
  FileGraph file = Dynamic();
  const uint32_t x = file.outputs[0];
  file.outputs = {AddNode(file, "aten.cumsum", {TensorArg(x), graph::IntArg(1)}, {16, kWidth})};
  file.tensors[file.outputs[0]].sizes = {1, 0};
  ModelOptions options;
  options.storage = Storage::kTexture3D;
  Model first = ValueOf(Model::LoadFromMemory(runtime, file.Write(), options));
  Model second = ValueOf(first.CreateContext());
  const auto resize = [](Model& model, int64_t rows) {
    const Shape shape{rows, int64_t{kWidth}};
    return model.Resize(std::span(&shape, 1)).ok();
  };
  ASSERT_TRUE(resize(first, 3) && resize(first, 5));
  {
    const std::scoped_lock lock(mutex);
    is_armed = true;
  }
  bool was_compiled = false;
  std::thread other([&] { was_compiled = resize(second, 7); });
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return is_compiling; }));
  }
  std::thread switching([&] {
    const bool switched = resize(first, 3) && resize(first, 5);
    const std::scoped_lock lock(mutex);
    has_switched = switched;
    changed.notify_all();
  });
  other.join();
  switching.join();
  EXPECT_TRUE(was_compiled);
  EXPECT_TRUE(switched_meanwhile);
}

TEST_F(ContextsTest, RunOnSeveralThreads) {
  constexpr int kRuns = 20;
  Model first = ValueOf(Load(Accumulator(/*rows=*/3)));
  const int failures = FailuresOnThreads(first, [](Model& context, int thread) {
    const auto step = static_cast<float>(thread + 1);
    bool right = true;
    for (int run = 1; run <= kRuns; ++run) {
      const auto outputs = RunModel(context, {Floats(3 * kWidth, step)});
      const Floats expected(3 * kWidth, 2 * step * static_cast<float>(run));
      right = right && outputs.ok() && (*outputs)[0] == expected;
    }
    return right;
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(Run(first, 1), All(first, 2)) << "the states of the first context are unchanged";
}

// Each dispatch is at least one submission. Contexts share the correction of the expected times.
TEST_F(ContextsTest, DividedRunsOnSeveralThreads) {
  RuntimeOptions options;
  options.libraries = {&AllShaders()};
  options.cache_dir = "none";
  options.max_submission_ns = 1;
  const Runtime runtime = ValueOf(Runtime::Create(options));
  for (const FileGraph& file : {Accumulator(), Dynamic()}) {
    Model first = ValueOf(Model::LoadFromMemory(runtime, file.Write()));
    EXPECT_GE(first.stats().submissions, first.stats().dispatches);
    const bool accumulates = !file.states.empty();
    const int failures = FailuresOnThreads(first, [accumulates](Model& context, int thread) {
      bool right = context.stats().submissions > 1;
      const auto x = static_cast<float>(thread + 1);
      for (int run = 1; run <= 10; ++run) {
        const float y = 2 * x * static_cast<float>(accumulates ? run : 1);
        right = right && Run(context, x) == All(context, y);
      }
      return right;
    });
    EXPECT_EQ(failures, 0);
  }
}

TEST_F(ContextsTest, ResizeOnSeveralThreads) {
  Model first = ValueOf(Load(Dynamic()));
  const int failures = FailuresOnThreads(first, [](Model& context, int thread) {
    bool right = true;
    for (int64_t i = 0; i < 12; ++i) {
      const Shape shape{1 + (5 * i + thread) % 16, static_cast<int64_t>(kWidth)};
      right = context.Resize(std::span(&shape, 1)).ok() && right;
      const Floats x(static_cast<size_t>(shape[0]) * kWidth, static_cast<float>(thread + 1));
      const auto outputs = RunModel(context, {x});
      right = right && outputs.ok() && (*outputs)[0] == Floats(x.size(), 2 * x[0]);
    }
    return right;
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(first.inputs()[0].shape[0], 16) << "contexts have their own shapes";
}

TEST_F(ContextsTest, ResizeToPreparedShapesCompilesNothing) {
  Model first = ValueOf(Load(Dynamic()));
  const Shape shape{7, static_cast<int64_t>(kWidth)};
  ASSERT_TRUE(first.Resize(std::span(&shape, 1)).ok());
  Model second = ValueOf(first.CreateContext());
  EXPECT_EQ(second.inputs()[0].shape[0], 16) << "contexts start with the maximum";
  const uint64_t pipelines = Counters().pipelines;
  ASSERT_TRUE(second.Resize(std::span(&shape, 1)).ok());
  EXPECT_EQ(Counters().pipelines, pipelines);
  EXPECT_EQ(second.stats().pipeline_ns, 0u);
  EXPECT_EQ(Run(second, 1), All(second, 2));
}

TEST_F(ContextsTest, OutliveTheModelAndTheFile) {
  for (const FileGraph& file : {Accumulator(), Dynamic()}) {
    std::optional<Model> context;
    {
      const Model first = ValueOf(Load(file));
      context.emplace(ValueOf(first.CreateContext()));
    }
    Model second = ValueOf(context->CreateContext());
    context.reset();
    EXPECT_EQ(Run(second, 1), All(second, 2));
  }
}

TEST_F(ContextsTest, FreeTheirMemory) {
  const Model first = ValueOf(Load(Accumulator()));
  const uint64_t bytes = Counters().allocated_bytes;
  for (int i = 0; i < 3; ++i) {
    Model context = ValueOf(first.CreateContext());
    EXPECT_GT(Counters().allocated_bytes, bytes);
  }
  EXPECT_EQ(Counters().allocated_bytes, bytes);
}

// The limit is for what the file requests; the application chooses the number of contexts.
TEST_F(ContextsTest, RaiseTheLimitOfDeviceMemory) {
  const FileGraph file = Accumulator(/*rows=*/512);
  const uint64_t before = Counters().allocated_bytes;
  uint64_t needed = 0;
  {
    const Model model = ValueOf(Load(file));
    needed = Counters().allocated_bytes - before;
  }
  ModelOptions options;
  options.max_device_bytes = needed + 4 * kWidth * kWidth * sizeof(float);  // packing
  const Model first = ValueOf(Model::LoadFromMemory(*runtime_, file.Write(), options));
  std::vector<Model> contexts;
  for (int i = 0; i < 3; ++i) contexts.push_back(ValueOf(first.CreateContext()));
}

}  // namespace
}  // namespace spirloom
