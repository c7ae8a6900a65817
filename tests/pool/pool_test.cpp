// Replicas of a model on two logical devices: two runtimes on the default device.
#include "spirloom/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::IntArg;
using graph::TensorArg;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kWidth = 8;
constexpr uint64_t kMaxBatch = 6;

// y = relu(x) for [8].
FileGraph Static() {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {kWidth});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(x)}, {kWidth})};
  return file;
}

// y = relu(x) for [batch, 8], with a batch of 1 to 6.
FileGraph Dynamic() {
  FileGraph file;
  file.symbols = {{"batch", 1, kMaxBatch}};
  file.sizes = {{{{1, {0}}}, 1}};
  const uint32_t x = AddInput(file, "x", {kMaxBatch, kWidth});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(x)}, {kMaxBatch, kWidth})};
  for (const uint32_t tensor : {x, file.outputs[0]}) file.tensors[tensor].sizes = {1, 0};
  return file;
}

// y = x[:count] for [6, 8], with an integer input `count` of 0 to 6.
FileGraph Counted() {
  FileGraph file;
  file.symbols = {{"count", 0, kMaxBatch}};
  file.sizes = {{{{1, {0}}}, 1}};
  const uint32_t x = AddInput(file, "x", {kMaxBatch, kWidth});
  graph::Arg end = IntArg(kMaxBatch);
  end.sizes = {1};
  file.outputs = {AddNode(file, "aten.slice.Tensor",
                          {TensorArg(x), IntArg(0), IntArg(0), end, IntArg(1)},
                          {kMaxBatch, kWidth})};
  file.tensors[file.outputs[0]].sizes = {1, 0};
  file.int_inputs = {{"count", 0, 1}};
  file.required_features = {"int_inputs"};
  return file;
}

// total = relu(total + x).
FileGraph Stateful() {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {kWidth});
  const uint32_t total = file.AddTensor("total", {kWidth});
  file.states.push_back({total, total});
  file.states[0].update = AddNode(file, "aten.add.Tensor", AddArgs(total, x), {kWidth});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(file.states[0].update)}, {kWidth})};
  return file;
}

// Calls `work(thread)` on `count` threads.
void OnThreads(size_t count, const std::function<void(size_t thread)>& work) {
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < count; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
}

// Returns once `count` threads have called Wait(), or false after a minute.
class Meeting {
 public:
  explicit Meeting(size_t count) : missing_(count) {}
  bool Wait() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) changed_.notify_all();
    return changed_.wait_for(lock, std::chrono::minutes(1), [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t missing_;
};

class PoolTest : public ModelTest {
 protected:
  void SetUp() override {
    ModelTest::SetUp();
    if (IsSkipped()) return;
    RuntimeOptions options;
    options.libraries = {&AllShaders()};
    options.cache_dir = "none";
    options.validation = true;
    second_ = ValueOf(Runtime::Create(options));
  }

  void TearDown() override {
    if (second_) {
      EXPECT_EQ(second_->validation_message_count(), 0u);
    }
    ModelTest::TearDown();
  }

  // A model of the file on each logical device.
  std::vector<Model> Models(const FileGraph& file) const {
    std::vector<Model> models;
    models.push_back(ValueOf(Model::LoadFromMemory(*runtime_, file.Write())));
    models.push_back(ValueOf(Model::LoadFromMemory(*second_, file.Write())));
    return models;
  }

  Pool MakePool(const FileGraph& file, LogCallback log = {}) const {
    return ValueOf(Pool::Create(Models(file), {.replicas = 2, .log = std::move(log)}));
  }

  // Whether a run with `rows` rows of `value`, or the maximum shapes, returns relu(value).
  static bool IsRight(Pool& pool, float value, std::optional<int64_t> rows = {}) {
    const size_t count = rows ? static_cast<size_t>(*rows) * kWidth : pool.inputs()[0].size / 4;
    const Floats x(count, value);
    Floats y(count);
    const std::span<const std::byte> input = std::as_bytes(std::span(x));
    const std::span<std::byte> output = std::as_writable_bytes(std::span(y));
    const Shape shape{rows.value_or(0), static_cast<int64_t>(kWidth)};
    const Status ran =
        rows ? pool.Run(std::span(&shape, 1), std::span(&input, 1), std::span(&output, 1))
             : pool.Run(std::span(&input, 1), std::span(&output, 1));
    EXPECT_TRUE(ran.ok()) << ran.message();
    return ran.ok() && y == Floats(count, std::max(value, 0.0f));
  }

  std::optional<Runtime> second_;
};

TEST_F(PoolTest, CallsOfSeveralThreadsUseAllReplicas) {
  Pool pool = MakePool(Static());
  ASSERT_EQ(pool.size(), 4u);
  Meeting meeting(pool.size());
  std::mutex mutex;
  std::set<const Model*> used;
  OnThreads(pool.size(), [&](size_t thread) {
    const Status ran = pool.Run([&](Model& replica) {
      EXPECT_TRUE(meeting.Wait()) << "Each replica is in a call.";
      const std::scoped_lock lock(mutex);
      used.insert(&replica);
      return Status();
    });
    EXPECT_TRUE(ran.ok());
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(IsRight(pool, static_cast<float>(thread) - 1));
  });
  EXPECT_EQ(used.size(), pool.size());
}

TEST_F(PoolTest, FewCallsUseAllDevices) {
  Pool pool = MakePool(Static());
  std::set<const void*> devices;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pool.Run([&](Model& replica) {
                      devices.insert(&replica.context()->device());
                      return Status();
                    })
                    .ok());
  }
  EXPECT_EQ(devices.size(), 2u);
}

TEST_F(PoolTest, MoreThreadsThanReplicasWait) {
  Pool pool = MakePool(Static());
  std::atomic<size_t> running{0}, most{0};
  OnThreads(12, [&](size_t thread) {
    for (int i = 0; i < 5; ++i) {
      const Status ran = pool.Run([&](Model&) {
        const size_t now = ++running;
        for (size_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        --running;
        return Status();
      });
      EXPECT_TRUE(ran.ok());
      EXPECT_TRUE(IsRight(pool, static_cast<float>(thread)));
    }
  });
  EXPECT_LE(most, pool.size());
}

TEST_F(PoolTest, ShapesMayDifferBetweenCalls) {
  Pool pool = MakePool(Dynamic());
  OnThreads(4, [&](size_t thread) {
    for (int64_t i = 0; i < 12; ++i) {
      EXPECT_TRUE(IsRight(pool, static_cast<float>(i), 1 + (i + static_cast<int64_t>(thread)) % 6));
    }
    EXPECT_TRUE(IsRight(pool, 3)) << "with the maximum shapes";
  });
  EXPECT_EQ(pool.inputs()[0].shape, (Shape{kMaxBatch, kWidth}));
}

TEST_F(PoolTest, IntegersMayDifferBetweenCalls) {
  Pool pool = MakePool(Counted());
  ASSERT_EQ(pool.int_inputs().size(), 1u);
  EXPECT_EQ(pool.int_inputs()[0].name, "count");
  const std::vector<Shape> shapes = {pool.inputs()[0].shape};
  const Floats x(kMaxBatch * kWidth, 3);
  const std::span<const std::byte> input = std::as_bytes(std::span(x));
  OnThreads(4, [&](size_t thread) {
    for (int64_t i = 0; i < 14; ++i) {
      const int64_t count = (i + static_cast<int64_t>(thread)) % 7;
      Floats y(static_cast<size_t>(count) * kWidth);
      const std::span<std::byte> output = std::as_writable_bytes(std::span(y));
      const Status ran =
          pool.Run(shapes, std::span(&count, 1), std::span(&input, 1), std::span(&output, 1));
      EXPECT_TRUE(ran.ok()) << ran.message();
      EXPECT_THAT(y, Each(3));
    }
    Floats y(x.size());
    const std::span<std::byte> output = std::as_writable_bytes(std::span(y));
    const Status ran = pool.Run(std::span(&input, 1), std::span(&output, 1));
    EXPECT_TRUE(ran.ok()) << "with the maximum: " << ran.message();
    EXPECT_EQ(y, x);
  });
  const int64_t beyond = 7;
  EXPECT_EQ(pool.Run(shapes, std::span(&beyond, 1), std::span(&input, 1), {}).code(),
            StatusCode::kInvalidArgument);
}

TEST_F(PoolTest, ALostDeviceIsRemoved) {
  std::vector<std::string> messages;
  Pool pool = MakePool(Static(), [&](LogLevel level, std::string_view message) {
    EXPECT_EQ(level, LogLevel::kWarning);
    messages.emplace_back(message);
  });
  const void* lost = nullptr;
  for (int i = 0; i < 4; ++i) {
    const Status ran = pool.Run([&](Model& replica) -> Status {
      const void* device = &replica.context()->device();
      if (lost == nullptr) lost = device;
      if (lost == device) return Status(StatusCode::kDeviceLost, "The device is lost.");
      return Status();
    });
    EXPECT_TRUE(ran.ok()) << ran.message();
  }
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_THAT(messages, ElementsAre("A replica is removed from the pool: The device is lost.",
                                    "A replica is removed from the pool: The device is lost."));
  EXPECT_TRUE(IsRight(pool, 1));
  const Status all =
      pool.Run([](Model&) { return Status(StatusCode::kDeviceLost, "The other device is lost."); });
  EXPECT_EQ(all.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(all.message(), "All devices of the pool are lost. Create another pool.");
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_EQ(pool.inputs()[0].name, "x");
}

TEST_F(PoolTest, AFailedCallRemovesNoReplica) {
  Pool pool = MakePool(Static());
  EXPECT_THAT(pool.Run({}, {}).message(), HasSubstr("Number of outputs is 0"));
  EXPECT_THROW(
      { const Status ran = pool.Run([](Model&) -> Status { throw std::runtime_error("work"); }); },
      std::runtime_error);
  EXPECT_EQ(pool.size(), 4u);
  OnThreads(4, [&](size_t) { EXPECT_TRUE(IsRight(pool, 2)); });
}

TEST_F(PoolTest, ArgumentsAreChecked) {
  const auto message = [](std::vector<Model> models, const PoolOptions& options = {}) {
    Result<Pool> pool = Pool::Create(std::move(models), options);
    EXPECT_EQ(pool.status().code(), StatusCode::kInvalidArgument);
    return pool.status().message();
  };
  EXPECT_EQ(message({}), "A pool requires at least one model.");
  EXPECT_EQ(message(Models(Static()), {.replicas = 0}),
            "PoolOptions::replicas (0) must be at least 1.");
  EXPECT_EQ(message(Models(Stateful())),
            "The model has states ('total'), which replicas would not share. Create a context for "
            "each sequence (Model::CreateContext()).");
  std::vector<Model> different = Models(Static());
  different[1] = ValueOf(Load(Dynamic()));
  EXPECT_EQ(
      message(std::move(different)),
      "Model 1 of the pool has other inputs, outputs, shapes or symbols than model 0. Load the "
      "same method of the same file on each device.");
  std::vector<Model> narrower = Models(Dynamic());
  FileGraph file = Dynamic();
  file.symbols[0].min = 2;
  narrower[1] = ValueOf(Load(file));
  EXPECT_THAT(message(std::move(narrower)), HasSubstr("Model 1 of the pool has other"));
  std::vector<Model> stateful = Models(Static());
  stateful[1] = ValueOf(Load(Stateful()));
  EXPECT_THAT(message(std::move(stateful)), HasSubstr("has states ('total')"));
}

}  // namespace
}  // namespace spirloom
