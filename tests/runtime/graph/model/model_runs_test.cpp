// Runs on several threads, asynchronous runs, runs on mapped memory, and barriers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "tests/support/model_fixture.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::NoneArg;
using graph::TensorArg;
using ::testing::ElementsAre;

TEST_F(ModelTest, ModelsRunOnSeveralThreads) {
  std::vector<std::thread> threads;
  std::array<bool, 3> correct{};
  for (size_t i = 0; i < correct.size(); ++i) {
    threads.emplace_back([i, &correct] {
      Result<Model> model = Load(SmallGraph(), kStorages[i % kStorages.size()]);
      if (!model.ok()) return;
      for (int run = 0; run < 20; ++run) {
        auto outputs = RunModel(*model, {Floats(6, static_cast<float>(i))});
        if (!outputs.ok() || (*outputs)[0][0] != static_cast<float>(i) + 2) return;
      }
      correct[i] = true;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(correct, ElementsAre(true, true, true));
}

template <typename T>
T* As(std::span<const std::byte> bytes) {
  return const_cast<T*>(reinterpret_cast<const T*>(bytes.data()));
}

// Applies `layers` times x = x w^T, with w of side x side elements, all 1 / side.
FileGraph Average(size_t side, int layers) {
  FileGraph file;
  const Floats ones(side * side, 1.0f / static_cast<float>(side));
  const uint32_t w = file.AddConstant("w", {side, side}, 0, ones);
  uint32_t t = AddInput(file, "x", {side, side});
  for (int i = 0; i < layers; ++i) {
    t = AddNode(file, "aten.linear", LinearArgs(t, w, NoneArg()), {side, side});
  }
  file.outputs = {t};
  return file;
}

TEST_F(ModelTest, RunsOnMappedMemory) {
  Result<Model> model = Load(SmallGraph());
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model->InputBytes(0).size(), 24u);
  ASSERT_EQ(model->OutputBytes(0).size(), 24u);
  const void* const address = model->OutputBytes(0).data();
  for (float value : {1.0f, 2.0f}) {
    std::fill_n(As<float>(model->InputBytes(0)), 6, value);
    ASSERT_TRUE(model->Run().ok());
    EXPECT_EQ(As<float>(model->OutputBytes(0))[5], value + 6);
    EXPECT_EQ(model->OutputBytes(0).data(), address);
  }
}

TEST_F(ModelTest, SubmittedRunsCanBeWaitedFor) {
  Result<Model> model = Load(SmallGraph(), Storage::kAuto, /*profile=*/true);
  ASSERT_TRUE(model.ok());
  const Floats x(6, 1.0f);
  Floats y(6);
  const std::vector<std::span<const std::byte>> inputs{std::as_bytes(std::span(x))};
  const std::vector<std::span<std::byte>> outputs{std::as_writable_bytes(std::span(y))};
  Result<PendingRun> run = model->Submit(inputs);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(model->Submit().status().message(),
            "Run 1 of the model is in flight. Wait for it, or create a context for each concurrent "
            "run.");
  EXPECT_EQ(model->Run().code(), StatusCode::kBusy);
  EXPECT_EQ(model->Profile().status().code(), StatusCode::kBusy);
  EXPECT_EQ(model->GpuTime().status().code(), StatusCode::kBusy);
  ASSERT_TRUE(run->Wait(outputs).ok());
  EXPECT_THAT(y, ElementsAre(3, 5, 7, 3, 5, 7));
  EXPECT_TRUE(*run->IsDone());
  EXPECT_TRUE(model->Profile().ok());
  EXPECT_TRUE(model->GpuTime().ok());
  EXPECT_TRUE(run->Wait(outputs).ok()) << "repeated";
  ASSERT_TRUE(model->Run().ok());
  EXPECT_TRUE(run->Wait().ok());
  EXPECT_EQ(run->Wait(outputs).message(),
            "The results of run 1 were overwritten by run 2. Read them before the next run.");
}

TEST_F(ModelTest, WaitsHaveATimeout) {
  Result<Model> model = Load(Average(256, /*layers=*/40));
  ASSERT_TRUE(model.ok());
  std::memset(model->InputBytes(0).data(), 0, model->InputBytes(0).size());
  Result<PendingRun> run = model->Submit();
  ASSERT_TRUE(run.ok());
  Result<bool> done = run->WaitFor(std::chrono::nanoseconds(0));
  ASSERT_TRUE(done.ok());
  EXPECT_FALSE(*done) << "the timeout is 0";
  EXPECT_EQ(model->Submit().status().code(), StatusCode::kBusy);
  done = run->WaitFor(std::chrono::seconds(60));
  ASSERT_TRUE(done.ok());
  EXPECT_TRUE(*done);
  EXPECT_TRUE(*run->WaitFor(std::chrono::nanoseconds(0))) << "repeated";
  EXPECT_TRUE(model->Run().ok());
}

TEST_F(ModelTest, PendingRunsOutliveTheirModel) {
  std::optional<PendingRun> run;
  {
    Result<Model> model = Load(Average(64, 8));
    ASSERT_TRUE(model.ok());
    std::fill_n(As<float>(model->InputBytes(0)), 64 * 64, 1.0f);
    Result<PendingRun> started = model->Submit();
    ASSERT_TRUE(started.ok());
    run = std::move(*started);
  }
  EXPECT_TRUE(run->Wait().ok());
  run.reset();
  Result<Model> model = Load(Average(64, 8));
  ASSERT_TRUE(model.ok());
  { const Result<PendingRun> dropped = model->Submit(); }
  EXPECT_TRUE(model->Run().ok()) << "the destructor of a pending run waits";
}

// The second model processes an output of the first while the first processes the next input.
TEST_F(ModelTest, ModelsArePipelined) {
  Result<Model> first = Load(Average(32, 4));
  Result<Model> second = Load(Average(32, 1));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto fill = [&](float value) {
    std::fill_n(As<float>(first->InputBytes(0)), 32 * 32, value);
  };
  std::vector<float> results;
  std::optional<PendingRun> second_run;
  for (int step = 0; step < 10; ++step) {
    fill(static_cast<float>(step));
    Result<PendingRun> first_run = first->Submit();
    ASSERT_TRUE(first_run.ok()) << first_run.status().message();
    if (second_run) {
      ASSERT_TRUE(second_run->Wait().ok());
      results.push_back(As<float>(second->OutputBytes(0))[0]);
    }
    ASSERT_TRUE(first_run->Wait().ok());
    const std::span<const std::byte> output = first->OutputBytes(0);
    std::memcpy(second->InputBytes(0).data(), output.data(), output.size());
    Result<PendingRun> started = second->Submit();
    ASSERT_TRUE(started.ok()) << started.status().message();
    second_run = std::move(*started);
  }
  for (size_t i = 0; i < results.size(); ++i) EXPECT_NEAR(results[i], static_cast<float>(i), 1e-4);
  EXPECT_EQ(results.size(), 9u);
}

// Several threads load, run and destroy models at the same time.
TEST_F(ModelTest, ThreadsSubmitAndLoadConcurrently) {
  std::vector<std::thread> threads;
  std::array<std::atomic<int>, 4> correct{};
  for (size_t i = 0; i < correct.size(); ++i) {
    threads.emplace_back([i, &correct] {
      for (int load = 0; load < 3; ++load) {
        Result<Model> a = Load(SmallGraph(), kStorages[i % kStorages.size()]);
        Result<Model> b = Load(Average(16, 2));
        if (!a.ok() || !b.ok()) return;
        const auto value = static_cast<float>(i + 1);
        for (int run = 0; run < 10; ++run) {
          std::fill_n(As<float>(a->InputBytes(0)), 6, value);
          std::fill_n(As<float>(b->InputBytes(0)), 256, value);
          Result<PendingRun> of_a = a->Submit();
          Result<PendingRun> of_b = b->Submit();
          if (!of_a.ok() || !of_b.ok() || !of_b->Wait().ok() || !of_a->Wait().ok()) return;
          const bool same = As<float>(a->OutputBytes(0))[0] == value + 2 &&
                            std::abs(As<float>(b->OutputBytes(0))[255] - value) < 1e-4f;
          correct[i] += same ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<int>& count : correct) EXPECT_EQ(count, 30);
}

TEST_F(ModelTest, IndependentBranchesHaveNoBarrier) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {4, 4});
  for (int i = 0; i < 3; ++i) {
    file.outputs.push_back(AddNode(file, "aten.relu", {TensorArg(x)}, {4, 4}));
  }
  Result<Model> branches = Load(file);
  ASSERT_TRUE(branches.ok());
  EXPECT_EQ(branches->stats().dispatches, 3u);
  EXPECT_EQ(branches->stats().barriers, 0u);
  const uint32_t sum =
      AddNode(file, "aten.add.Tensor", AddArgs(file.outputs[0], file.outputs[1]), {4, 4});
  file.outputs = {sum, file.outputs[2]};
  Result<Model> merged = Load(file);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->stats().barriers, 1u);
}

}  // namespace
}  // namespace spirloom
