// A watchdog that loses the device if a submission dispatches too many workgroups: runs are divided
// into submissions below it, with equal results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/session/runtime_state.h"
#include "tests/faults/fault_fixture.h"
#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom::faults {
namespace {

using graph::FileGraph;
using graph::NoneArg;
using graph::TensorArg;
using testing::HasSubstr;

constexpr uint64_t kRows = 32;
constexpr uint64_t kColumns = 256;
constexpr int kLayers = 5;

Floats Pattern(size_t count) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  return values;
}

// y = x + layer(layer(… x)), with layer(x) = relu(x w^T).
FileGraph Layers() {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {kRows, kColumns});
  const uint32_t w = file.AddConstant("w", {kColumns, kColumns}, 0, Pattern(kColumns * kColumns));
  uint32_t t = x;
  for (int i = 0; i < kLayers; ++i) {
    t = AddNode(file, "aten.linear", LinearArgs(t, w, NoneArg()), {kRows, kColumns});
    t = AddNode(file, "aten.relu", {TensorArg(t)}, {kRows, kColumns});
  }
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(t, x), {kRows, kColumns})};
  return file;
}

// A state s = relu(s + b), and an output s + s.
FileGraph Recurrent() {
  FileGraph file;
  const uint32_t b = file.AddConstant("b", {kRows, kColumns}, 0, Pattern(kRows * kColumns));
  const uint32_t state = file.AddTensor("state", {kRows, kColumns});
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(state, b), {kRows, kColumns});
  const uint32_t next = AddNode(file, "aten.relu", {TensorArg(sum)}, {kRows, kColumns});
  file.states = {{state, next}};
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(next, next), {kRows, kColumns})};
  return file;
}

class WatchdogTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
    Faults().set_watchdog(0);
  }
  void TearDown() override {
    Faults().clear();
    Faults().set_watchdog(0);
  }

  static Runtime MakeRuntime(uint64_t max_submission_ns) {
    RuntimeOptions options;
    options.libraries = {&AllShaders()};
    options.cache_dir = "none";
    options.validation = true;
    options.max_submission_ns = max_submission_ns;
    return ValueOf(Runtime::Create(options));
  }

  static uint64_t Submits(const Runtime& runtime) {
    return runtime.state()->device->counters().submits;
  }

  // Runs the model once in one submission. Returns the output.
  static Floats Expected() {
    const Runtime runtime = MakeRuntime(0);
    Model model = ValueOf(Model::LoadFromMemory(runtime, Layers().Write()));
    Faults().set_watchdog(0);
    const Floats y = ValueOf(RunModel(model, {Pattern(kRows * kColumns)})).at(0);
    EXPECT_EQ(model.stats().submissions, 1U);
    return y;
  }
};

TEST_F(WatchdogTest, LosesTheDeviceIfARunIsOneSubmission) {
  const Runtime runtime = MakeRuntime(0);
  Model model = ValueOf(Model::LoadFromMemory(runtime, Layers().Write()));
  Faults().set_watchdog(kLayers);  // fewer workgroups than the run has
  const auto result = RunModel(model, {Pattern(kRows * kColumns)});
  EXPECT_EQ(result.status().code(), StatusCode::kDeviceLost);
  EXPECT_THAT(result.status().message(), HasSubstr("vkQueueSubmit returns VK_ERROR_DEVICE_LOST"));
}

// With a limit of 1 ns, each workgroup is its own submission.
TEST_F(WatchdogTest, RunsAreDividedDownToWorkgroups) {
  const Floats expected = Expected();
  EXPECT_GT(Faults().largest_submission(), 20U);
  const Runtime runtime = MakeRuntime(1);
  Model model = ValueOf(Model::LoadFromMemory(runtime, Layers().Write()));
  Faults().set_watchdog(1);
  for (int run = 0; run < 12; ++run) {
    EXPECT_EQ(ValueOf(RunModel(model, {Pattern(kRows * kColumns)})).at(0), expected);
  }
  EXPECT_GT(model.stats().submissions, 20U);
  EXPECT_EQ(Faults().largest_submission(), 1U);
  EXPECT_EQ(runtime.validation_message_count(), 0U);
}

TEST_F(WatchdogTest, LoadingIsDivided) {
  Faults().set_watchdog(0);
  { (void)ValueOf(Model::LoadFromMemory(MakeRuntime(0), Layers().Write())); }
  if (Faults().largest_submission() < 2) GTEST_SKIP() << "Nothing is packed on this device.";
  const Runtime runtime = MakeRuntime(1);
  Faults().set_watchdog(1);
  EXPECT_TRUE(Model::LoadFromMemory(runtime, Layers().Write()).ok());
}

// Each of the repeated runs has the states of the previous one.
TEST_F(WatchdogTest, RepeatedRunsAreDivided) {
  constexpr size_t kRuns = 7;
  std::vector<Floats> results;
  for (const uint64_t max_ns : {uint64_t{0}, uint64_t{1}}) {
    const Runtime runtime = MakeRuntime(max_ns);
    Model model = ValueOf(Model::LoadFromMemory(runtime, Recurrent().Write()));
    Faults().set_watchdog(max_ns == 0 ? 0 : 1);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(ValueOf(model.SubmitRepeated(kRuns)).Wait().ok());
    EXPECT_EQ(Submits(runtime) % 2, 0U);
    results.push_back(ValueOf(RunModel(model, {})).at(0));
    EXPECT_EQ(runtime.validation_message_count(), 0U);
  }
  EXPECT_EQ(results[0], results[1]);
}

// The host waits once, whatever the number of submissions.
TEST_F(WatchdogTest, TimesOfDividedRuns) {
  const Runtime runtime = MakeRuntime(1);
  ModelOptions options;
  options.profile = true;
  Model model = ValueOf(Model::LoadFromMemory(runtime, Layers().Write(), options));
  const Floats y = ValueOf(RunModel(model, {Pattern(kRows * kColumns)})).at(0);
  EXPECT_EQ(y, Expected());
  const std::vector<DispatchProfile> profile = ValueOf(model.Profile());
  EXPECT_EQ(profile.size(), model.stats().dispatches);
  for (size_t i = 1; i < profile.size(); ++i) {
    EXPECT_GE(profile[i].start_ns, profile[i - 1].start_ns) << i;
  }
  EXPECT_GE(ValueOf(model.GpuTime()), profile.back().start_ns);
}

// The device is lost in the third of many submissions.
TEST_F(WatchdogTest, LosingTheDeviceWithinARun) {
  const Floats expected = Expected();
  for (const bool repeated : {false, true}) {
    const Runtime runtime = MakeRuntime(1);
    Model model =
        ValueOf(Model::LoadFromMemory(runtime, repeated ? Recurrent().Write() : Layers().Write()));
    Faults().set({.first = 3, .only = "vkQueueSubmit", .code = VK_ERROR_DEVICE_LOST});
    const Status status = repeated ? model.SubmitRepeated(3).status() : model.Run();
    EXPECT_EQ(status.code(), StatusCode::kDeviceLost);
    EXPECT_EQ(model.Run().code(), StatusCode::kDeviceLost);
    EXPECT_STREQ(Faults().clear(), "vkQueueSubmit");
  }
  const Runtime runtime = MakeRuntime(1);
  Model model = ValueOf(Model::LoadFromMemory(runtime, Layers().Write()));
  EXPECT_EQ(ValueOf(RunModel(model, {Pattern(kRows * kColumns)})).at(0), expected);
}

// The message names the submission that had not finished, with its nodes.
TEST_F(WatchdogTest, LosingTheDeviceNamesTheNodes) {
  const Runtime runtime = MakeRuntime(1);
  Model model = ValueOf(Model::LoadFromMemory(runtime, Layers().Write()));
  const std::string total = std::to_string(model.stats().submissions);
  const std::string first = ValueOf(model.Profile()).front().node;
  Faults().set({.first = 3, .only = "vkQueueSubmit", .code = VK_ERROR_DEVICE_LOST});
  const Status status = model.Run();
  Faults().clear();
  EXPECT_THAT(status.message(), HasSubstr("While executing submission 3 of " + total + " (nodes '" +
                                          first + "' to '" + first + "')"));
}

// A short run is not divided: the message names all its nodes, and the remedy.
TEST_F(WatchdogTest, LosingTheDeviceInAShortRun) {
  const Runtime runtime = MakeRuntime(1'000'000'000'000);
  Model model = ValueOf(Model::LoadFromMemory(runtime, Layers().Write()));
  const std::vector<DispatchProfile> profile = ValueOf(model.Profile());
  Faults().set({.only = "vkQueueSubmit", .code = VK_ERROR_DEVICE_LOST});
  const Status status = model.Run();
  Faults().clear();
  EXPECT_THAT(status.message(), HasSubstr("While executing nodes '" + profile.front().node +
                                          "' to '" + profile.back().node + "' (with "));
}

// The third of many submissions fails: the run fails after those before it, and can be repeated.
TEST_F(WatchdogTest, FailingWithinARun) {
  const Floats expected = Expected();
  const Runtime runtime = MakeRuntime(1);
  Model model = ValueOf(Model::LoadFromMemory(runtime, Layers().Write()));
  Faults().set({.first = 3, .only = "vkQueueSubmit", .code = VK_ERROR_OUT_OF_HOST_MEMORY});
  EXPECT_EQ(model.Run().code(), StatusCode::kOutOfMemory);
  EXPECT_STREQ(Faults().clear(), "vkQueueSubmit");
  EXPECT_EQ(ValueOf(RunModel(model, {Pattern(kRows * kColumns)})).at(0), expected);
  EXPECT_EQ(runtime.validation_message_count(), 0U);
}

}  // namespace
}  // namespace spirloom::faults
