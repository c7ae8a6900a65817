// A runtime on an adopted device: the application's instance, device, queue, buffers and
// semaphores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/graph/model/external.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/fence.h"
#include "spirloom/vulkan.h"
#include "tests/support/adopted_device_application.h"
#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using testing::Application;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HostBuffer;

class AdoptedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "There is no Vulkan device.";
    application_ = Application::Create();
    if (application_ == nullptr) GTEST_SKIP() << "The validation layer or a feature is missing.";
  }

  void TearDown() override {
    if (application_ != nullptr) {
      EXPECT_THAT(application_->messages(), ElementsAre()) << "validation messages";
    }
  }

  Result<Runtime> MakeRuntime(const AdoptedDevice& adopted) const {
    return Runtime::Create({.libraries = {&AllShaders()}, .adopt = &adopted, .cache_dir = "none"});
  }

  Application& app() { return *application_; }

 private:
  std::unique_ptr<Application> application_;
};

TEST_F(AdoptedDeviceTest, RunsOnTheApplicationsDevice) {
  Result<Runtime> runtime = MakeRuntime(app().Adoptable());
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  EXPECT_EQ(runtime->state()->device->handle(), app().device());
  Result<Model> model = Model::LoadFromMemory(*runtime, SmallGraph().Write());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto outputs = RunModel(*model, {Floats(6, 1.0f)});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_THAT((*outputs)[0], ElementsAre(3, 5, 7, 3, 5, 7));
  EXPECT_GT(app().locks(), 0);
  EXPECT_FALSE(app().locked());
}

TEST_F(AdoptedDeviceTest, ADeviceRequestEnablesTheFeaturesOfAllKernels) {
  const AdoptedDevice adopted = app().Adoptable();
  Result<Runtime> runtime = MakeRuntime(adopted);  // with all features enabled
  ASSERT_TRUE(runtime.ok());
  const std::array libraries{&AllShaders()};
  Result<DeviceRequest> request =
      DeviceRequest::Create(libraries, adopted.instance, adopted.api_version,
                            adopted.physical_device, adopted.get_instance_proc_addr);
  ASSERT_TRUE(request.ok()) << request.status().message();
  VkPhysicalDeviceFeatures2 chain{};
  chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  request->AddTo(chain);
  const uint64_t used = runtime->state()->device->capabilities() & vulkan::kFeatureCapabilities;
  EXPECT_EQ(vulkan::EnabledCapabilities(&chain) & used, used);
}

TEST_F(AdoptedDeviceTest, DisabledFeaturesAreNotUsed) {
  std::vector<std::string> log;
  AdoptedDevice adopted = app().Adoptable();
  adopted.features = nullptr;
  const auto runtime =
      Runtime::Create({.libraries = {&AllShaders()},
                       .adopt = &adopted,
                       .cache_dir = "none",
                       .log = [&](LogLevel, std::string_view text) { log.emplace_back(text); }});
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  EXPECT_EQ(runtime->state()->device->capabilities() & vulkan::kFeatureCapabilities, 0U);
  EXPECT_THAT(runtime->device().features, ::testing::Not(::testing::Contains("shader_float16")));
  EXPECT_THAT(log, ::testing::Contains(HasSubstr("AdoptedDevice::features does not enable")));
}

TEST_F(AdoptedDeviceTest, ReportsAllMissingDeviceRequirements) {
  AdoptedDevice adopted = app().Adoptable();
  const char* unknown[] = {"VK_EXT_no_such"};
  adopted.api_version = VK_API_VERSION_1_0;
  adopted.queue_family = 77;
  adopted.extensions = unknown;
  const Status status = MakeRuntime(adopted).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("Vulkan 1.1"));
  EXPECT_THAT(status.message(), HasSubstr("queue family 77"));
  EXPECT_THAT(status.message(), HasSubstr("VK_EXT_no_such"));
}

TEST_F(AdoptedDeviceTest, ReportsAllInvalidFields) {
  AdoptedDevice adopted;
  adopted.lock_queue = [] {};
  const Status status = Runtime::Create({.device = "0", .adopt = &adopted}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const char* text : {"::instance is null", "::physical_device is null", "::device is null",
                           "::queue is null", "lock_queue", "RuntimeOptions::device"}) {
    EXPECT_THAT(status.message(), HasSubstr(text));
  }
}

// The application writes the input buffer on the GPU, the model writes the output buffer, and the
// application copies it. The host waits only at the end.
TEST_F(AdoptedDeviceTest, RunsBetweenTimelineSemaphoresWithoutHostSynchronization) {
  Result<Runtime> runtime = MakeRuntime(app().Adoptable());
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  Result<Model> model = Model::LoadFromMemory(*runtime, SmallGraph().Write());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const HostBuffer source = app().MakeBuffer(256);
  const HostBuffer input = app().MakeBuffer(256);
  const HostBuffer output = app().MakeBuffer(256);
  const HostBuffer target = app().MakeBuffer(256);
  ASSERT_TRUE(model->BindInput(0, {input.buffer, 64, 24}).ok());
  ASSERT_TRUE(model->BindOutput(0, {output.buffer, 32, 24}).ok());
  const VkSemaphore semaphore = app().MakeTimeline();
  for (uint64_t frame = 0; frame < 3; ++frame) {
    std::fill_n(source.floats(), 6, static_cast<float>(frame));
    app().Copy(source, 0, input, 64, 24, {}, SemaphorePoint{semaphore, 3 * frame + 1});
    const std::array wait{SemaphorePoint{semaphore, 3 * frame + 1}};
    const std::array signal{SemaphorePoint{semaphore, 3 * frame + 2}};
    Result<PendingRun> run = model->Submit(SubmitOptions{wait, signal});
    ASSERT_TRUE(run.ok()) << run.status().message();
    app().Copy(output, 32, target, 0, 24, SemaphorePoint{semaphore, 3 * frame + 2},
               SemaphorePoint{semaphore, 3 * frame + 3});
    app().WaitFor(semaphore, 3 * frame + 3);
    ASSERT_TRUE(run->Wait().ok());
    const auto x = static_cast<float>(frame);
    EXPECT_THAT(std::vector(target.floats(), target.floats() + 6),
                ElementsAre(x + 2, x + 4, x + 6, x + 2, x + 4, x + 6));
  }
  // Bytes are rejected for a bound input, and accepted after it is unbound.
  const Floats ones(6, 1.0f);
  const std::array<std::span<const std::byte>, 1> bytes{std::as_bytes(std::span(ones))};
  EXPECT_THAT(model->Submit(bytes).status().message(),
              HasSubstr("'x' is bound to external memory"));
  ASSERT_TRUE(model->BindInput(0, ExternalBuffer{}).ok());
  ASSERT_TRUE(model->BindOutput(0, ExternalBuffer{}).ok());
  const auto outputs = RunModel(*model, {ones});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_THAT((*outputs)[0], ElementsAre(3, 5, 7, 3, 5, 7));
}

// Work that precedes waits for a semaphore that the application signals under its lock.
TEST_F(AdoptedDeviceTest, WaitsForTheQueueWithoutItsLock) {
  std::timed_mutex queue;
  std::atomic<int> uses = 0;
  AdoptedDevice adopted = app().Adoptable();
  adopted.lock_queue = [&] { queue.lock(); };
  adopted.unlock_queue = [&] {
    queue.unlock();
    ++uses;
  };
  Result<Runtime> runtime = MakeRuntime(adopted);
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  const vulkan::Device& device = *runtime->state()->device;
  const vulkan::Fence fence = ValueOf(vulkan::Fence::Create(device));
  const HostBuffer buffer = app().MakeBuffer(256);
  const VkSemaphore semaphore = app().MakeTimeline();
  app().Copy(buffer, 0, buffer, 128, 24, SemaphorePoint{semaphore, 1}, {});
  const int uses_before = uses;
  std::thread waiting([&] { EXPECT_TRUE(device.DrainQueue(fence.handle())); });
  while (uses == uses_before && queue.try_lock_for(std::chrono::seconds(1))) queue.unlock();
  EXPECT_GT(uses, uses_before) << "The lock is held while waiting.";
  const VkSemaphoreSignalInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, nullptr, semaphore,
                                     1};
  const auto vkSignalSemaphore = reinterpret_cast<PFN_vkSignalSemaphore>(
      app().get_device_proc_addr()(app().device(), "vkSignalSemaphore"));
  EXPECT_EQ(vkSignalSemaphore(app().device(), &signal), VK_SUCCESS);
  waiting.join();
}

TEST_F(AdoptedDeviceTest, AcceptsBinarySemaphores) {
  Result<Runtime> runtime = MakeRuntime(app().Adoptable());
  ASSERT_TRUE(runtime.ok());
  Result<Model> first = Model::LoadFromMemory(*runtime, SmallGraph().Write());
  Result<Model> second = Model::LoadFromMemory(*runtime, SmallGraph().Write());
  ASSERT_TRUE(first.ok() && second.ok());
  const HostBuffer between = app().MakeBuffer(24);
  ASSERT_TRUE(first->BindOutput(0, {between.buffer, 0, 24}).ok());
  ASSERT_TRUE(second->BindInput(0, {between.buffer, 0, 24}).ok());
  std::memset(first->InputBytes(0).data(), 0, 24);
  const std::array point{SemaphorePoint{app().MakeBinary()}};
  Result<PendingRun> early = first->Submit(SubmitOptions{.signal = point});
  Result<PendingRun> late = second->Submit(SubmitOptions{.wait = point});
  ASSERT_TRUE(early.ok() && late.ok());
  Floats y(6);
  const std::array<std::span<std::byte>, 1> outputs{std::as_writable_bytes(std::span(y))};
  ASSERT_TRUE(late->Wait(outputs).ok());
  ASSERT_TRUE(early->Wait().ok());
  EXPECT_THAT(y, ElementsAre(4, 8, 12, 4, 8, 12));
}

// With staging buffers, as on a discrete device.
TEST_F(AdoptedDeviceTest, CombinesBoundAndStagedTensors) {
  Result<Runtime> runtime = MakeRuntime(app().Adoptable());
  ASSERT_TRUE(runtime.ok());
  const std::vector<std::byte> file = SmallGraph().Write();
  auto state = LoadContext(*runtime, file, internal::HostAccess::kStaged);
  ASSERT_TRUE(state.ok()) << state.status().message();
  const HostBuffer input = app().MakeBuffer(24);
  std::fill_n(input.floats(), 6, 5.0f);
  ASSERT_TRUE(
      internal::BindBuffer(**state, internal::Side::kInputs, 0, {input.buffer, 0, 24}).ok());
  Floats y(6);
  const std::array<std::span<const std::byte>, 1> inputs{};
  const std::array<std::span<std::byte>, 1> outputs{std::as_writable_bytes(std::span(y))};
  ASSERT_TRUE(internal::RunModel(**state, inputs, outputs).ok());
  EXPECT_THAT(y, ElementsAre(7, 9, 11, 7, 9, 11));
}

// A bound tensor is a single copy; others are copied in pieces. The semaphores enclose all
// submissions.
TEST_F(AdoptedDeviceTest, CombinesBoundTensorsAndPieces) {
  Result<Runtime> runtime = MakeRuntime(app().Adoptable());
  ASSERT_TRUE(runtime.ok());
  graph::FileGraph file;
  const uint32_t x = AddInput(file, "x", {100});
  const uint32_t z = AddInput(file, "z", {100});
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(x, z), {100}), x};
  const std::vector<std::byte> bytes = file.Write();
  auto state = LoadContext(*runtime, bytes, {.direct = false, .piece_bytes = 64});
  ASSERT_TRUE(state.ok()) << state.status().message();
  const HostBuffer input = app().MakeBuffer(400);
  const Floats fives(100, 5), ones(100, 1);
  std::ranges::copy(fives, input.floats());
  ASSERT_TRUE(
      internal::BindBuffer(**state, internal::Side::kInputs, 0, {input.buffer, 0, 400}).ok());
  Floats sum(100), copy(100);
  const std::array outputs{std::as_writable_bytes(std::span(sum)),
                           std::as_writable_bytes(std::span(copy))};
  const std::array<std::span<const std::byte>, 2> inputs{{{}, std::as_bytes(std::span(ones))}};
  ASSERT_TRUE(internal::RunModel(**state, inputs, outputs).ok());
  EXPECT_EQ((*state)->current().copies_in.pieces, 7U);
  EXPECT_EQ((*state)->current().copies_out.pieces, 14U);
  EXPECT_EQ(sum, Floats(100, 6));
  EXPECT_EQ(copy, fives);

  const VkSemaphore semaphore = app().MakeTimeline();
  const HostBuffer sevens = app().MakeBuffer(400);
  std::fill_n(sevens.floats(), 100, 7.0f);
  const std::array wait{SemaphorePoint{semaphore, 1}};
  const std::array signal{SemaphorePoint{semaphore, 2}};
  app().Copy(sevens, 0, input, 0, 400, {}, wait[0]);
  ASSERT_TRUE(internal::SubmitRun(**state, SubmitOptions{wait, signal}).ok());
  app().WaitFor(semaphore, 2);
  ASSERT_TRUE(internal::FinishRun(**state, 2, outputs).ok());
  EXPECT_EQ(sum, Floats(100, 8));
  EXPECT_EQ(copy, Floats(100, 7));
}

TEST_F(AdoptedDeviceTest, RejectsABindingThatIsTooSmall) {
  Result<Runtime> runtime = MakeRuntime(app().Adoptable());
  ASSERT_TRUE(runtime.ok());
  Result<Model> model = Model::LoadFromMemory(*runtime, SmallGraph().Write());
  ASSERT_TRUE(model.ok());
  const HostBuffer buffer = app().MakeBuffer(24);
  EXPECT_EQ(model->BindInput(0, {buffer.buffer, 8, 16}).message(),
            "The memory bound to 'x' has 16 bytes; the tensor requires 24 bytes.");
  EXPECT_EQ(model->BindInput(1, {buffer.buffer, 0, 24}).message(),
            "Input 1 does not exist. Number of inputs: 1.");
  EXPECT_TRUE(RunModel(*model, {Floats(6, 1.0f)}).ok()) << "nothing is bound";
}

TEST_F(AdoptedDeviceTest, BindsHostMemory) {
  AdoptedDevice adopted = app().Adoptable();
  Result<Runtime> runtime = MakeRuntime(adopted);
  ASSERT_TRUE(runtime.ok());
  const uint64_t alignment = runtime->state()->device->physical().host_pointer_alignment;
  if (alignment == 0) GTEST_SKIP() << "The device lacks VK_EXT_external_memory_host.";
  Result<Model> model = Model::LoadFromMemory(*runtime, SmallGraph().Write());
  ASSERT_TRUE(model.ok());
  const std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(alignment, 2 * alignment), &std::free);
  auto* bytes = static_cast<std::byte*>(memory.get());
  ASSERT_TRUE(model->BindInput(0, std::span<const std::byte>(bytes, alignment)).ok());
  ASSERT_TRUE(model->BindOutput(0, std::span(bytes + alignment, alignment)).ok());
  for (const float x : {1.0f, 4.0f}) {
    std::fill_n(reinterpret_cast<float*>(bytes), 6, x);
    ASSERT_TRUE(model->Run().ok());
    EXPECT_EQ(reinterpret_cast<float*>(bytes + alignment)[1], x + 4);
  }
  EXPECT_THAT(model->BindInput(0, std::span<const std::byte>(bytes + 4, alignment)).message(),
              HasSubstr("must be multiples of"));
}

TEST_F(AdoptedDeviceTest, RejectsObjectsOfAnotherDevice) {
  const auto runtime = Runtime::Create({.libraries = {&AllShaders()}, .cache_dir = "none"});
  ASSERT_TRUE(runtime.ok());
  Result<Model> model = Model::LoadFromMemory(*runtime, SmallGraph().Write());
  ASSERT_TRUE(model.ok());
  const HostBuffer buffer = app().MakeBuffer(24);
  EXPECT_EQ(model->BindInput(0, {buffer.buffer, 0, 24}).code(), StatusCode::kInvalidArgument);
  const std::array point{SemaphorePoint{app().MakeBinary()}};
  EXPECT_EQ(model->Submit(SubmitOptions{.signal = point}).status().code(),
            StatusCode::kInvalidArgument);
  std::array<std::byte, 24> memory{};
  EXPECT_EQ(model->BindInput(0, std::span<const std::byte>(memory)).code(),
            StatusCode::kUnsupported);
}

}  // namespace
}  // namespace spirloom
