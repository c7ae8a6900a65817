// GPU times of complete runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::IntArg;
using graph::NoneArg;
using graph::TensorArg;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Applies `layers` times x = x w^T, with w of 256 x 256.
FileGraph Matmuls(int layers) {
  constexpr uint64_t kSide = 256;
  FileGraph file;
  const Floats ones(kSide * kSide, 1.0f / kSide);
  const uint32_t w = file.AddConstant("w", {kSide, kSide}, 0, ones);
  uint32_t t = AddInput(file, "x", {kSide, kSide});
  for (int i = 0; i < layers; ++i) {
    t = AddNode(file, "aten.linear", LinearArgs(t, w, NoneArg()), {kSide, kSide});
  }
  file.outputs = {t};
  return file;
}

// A state x = x w^T.
FileGraph RepeatedMatmul() {
  FileGraph file = Matmuls(1);
  file.states = {{file.inputs[0], file.outputs[0]}};
  file.inputs.clear();
  file.outputs.clear();
  return file;
}

template <typename Call>
uint64_t HostNanoseconds(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
}

class ModelTimesTest : public ModelTest {
 protected:
  void SetUp() override {
    ModelTest::SetUp();
    if (IsSkipped()) return;
    if (runtime_->state()->device->physical().timestamp_valid_bits == 0) {
      GTEST_SKIP() << "The device has no timestamps.";
    }
  }

  static Model LoadTimed(const FileGraph& file, Storage storage = Storage::kAuto) {
    ModelOptions options;
    options.storage = storage;
    options.time_runs = true;
    return ValueOf(Model::LoadFromMemory(*runtime_, file.Write(), options));
  }
};

TEST_F(ModelTimesTest, TheGpuTimeIsLessThanTheHostTime) {
  for (Storage storage : kStorages) {
    Model model = LoadTimed(Matmuls(4), storage);
    EXPECT_EQ(ValueOf(model.GpuTime()), 0u) << "before the first run";
    for (int i = 0; i < 3; ++i) {
      const uint64_t host = HostNanoseconds([&] { ASSERT_TRUE(model.Run().ok()); });
      const uint64_t gpu = ValueOf(model.GpuTime());
      EXPECT_GT(gpu, 0u);
      EXPECT_LE(gpu, host);
      EXPECT_EQ(ValueOf(model.GpuTime()), gpu) << "repeated";
    }
    EXPECT_THAT(ValueOf(model.Profile()), Each(Field(&DispatchProfile::gpu_ns, 0u)))
        << "dispatches have no times without ModelOptions::profile";
  }
}

TEST_F(ModelTimesTest, ProfilingIncludesTheGpuTimeOfTheRun) {
  for (const bool time_runs : {false, true}) {
    ModelOptions options;
    options.profile = true;
    options.time_runs = time_runs;
    Model model = ValueOf(Model::LoadFromMemory(*runtime_, Matmuls(4).Write(), options));
    ASSERT_TRUE(model.Run().ok());
    const uint64_t gpu = ValueOf(model.GpuTime());
    uint64_t end = 0;
    for (const DispatchProfile& dispatch : ValueOf(model.Profile())) {
      EXPECT_GT(dispatch.gpu_ns, 0u);
      EXPECT_GE(gpu, dispatch.start_ns + dispatch.gpu_ns);
      end = dispatch.start_ns + dispatch.gpu_ns;
    }
    EXPECT_EQ(gpu, end);
  }
}

// Times start at the first dispatch, after the copies of inputs.
TEST_F(ModelTimesTest, CopiesOfInputsAreNotIncluded) {
  FileGraph file;
  constexpr uint64_t kCount = 1 << 16;
  const uint32_t x = AddInput(file, "x", {kCount});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(x)}, {kCount})};
  const std::vector<std::byte> bytes = file.Write();
  ModelOptions options;
  options.profile = true;
  const auto state = ValueOf(LoadContext(*runtime_, bytes, internal::HostAccess::kStaged, options));
  const Floats x_values(kCount, 1);
  Floats y_values(kCount);
  const std::vector<std::span<const std::byte>> inputs{std::as_bytes(std::span(x_values))};
  const std::vector<std::span<std::byte>> outputs{std::as_writable_bytes(std::span(y_values))};
  ASSERT_TRUE(internal::RunModel(*state, inputs, outputs).ok());
  const std::vector<DispatchProfile> profile = ValueOf(internal::ReadProfile(*state));
  ASSERT_THAT(profile, SizeIs(1));
  EXPECT_EQ(profile[0].start_ns, 0u);
  EXPECT_EQ(ValueOf(internal::ReadGpuTime(*state)), profile[0].gpu_ns);
}

TEST_F(ModelTimesTest, RepeatedRunsReportTheTimeOfTheLastRun) {
  ModelOptions options;
  options.profile = true;
  Model model = ValueOf(Model::LoadFromMemory(*runtime_, RepeatedMatmul().Write(), options));
  ASSERT_TRUE(ValueOf(model.SubmitRepeated(20)).Wait().ok());
  const std::vector<DispatchProfile> profile = ValueOf(model.Profile());
  ASSERT_FALSE(profile.empty());
  EXPECT_EQ(profile.front().start_ns, 0u);
  EXPECT_EQ(ValueOf(model.GpuTime()), profile.back().start_ns + profile.back().gpu_ns);
}

TEST_F(ModelTimesTest, ARunWithoutDispatchesTakesNoTime) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {0, 3});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(x)}, {0, 3})};
  Model model = LoadTimed(file);
  ASSERT_EQ(model.stats().dispatches, 0u);
  ASSERT_TRUE(model.Run().ok());
  EXPECT_EQ(ValueOf(model.GpuTime()), 0u);
}

TEST_F(ModelTimesTest, TimesMustBeEnabledAtLoad) {
  Model model = ValueOf(Load(SmallGraph()));
  ASSERT_TRUE(model.Run().ok());
  const Status status = model.GpuTime().status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("GPU times require ModelOptions::time_runs"));
}

}  // namespace
}  // namespace spirloom
