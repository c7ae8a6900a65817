// A model reads and writes memory that another allocation exported, on an adopted device.
#include "spirloom/external_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "tests/support/adopted_device_application.h"
#include "tests/support/model_fixture.h"

namespace spirloom {
namespace {

using testing::Application;
using ::testing::ElementsAre;
using testing::ExportedBuffer;
using ::testing::HasSubstr;

constexpr uint64_t kSize = 4096;

ExternalMemoryDevice DeviceOf(const Application& application) {
  return {application.device(), application.get_device_proc_addr()};
}

// y = relu(x) of f32[4].
std::vector<std::byte> Relu() {
  graph::FileGraph file;
  const uint32_t x = AddInput(file, "x", {4});
  file.outputs = {AddNode(file, "aten.relu", {graph::TensorArg(x)}, {4})};
  return file.Write();
}

TEST(ExternalMemoryTest, AModelUsesExportedMemory) {
  const std::unique_ptr<Application> application = Application::Create();
  if (application == nullptr) GTEST_SKIP() << "The validation layer or a feature is missing.";
  if (!application->exports_fds()) GTEST_SKIP() << "VK_KHR_external_memory_fd is missing.";
  const ExportedBuffer in = application->ExportBuffer(kSize);
  const ExportedBuffer out = application->ExportBuffer(kSize);
  {
    const ExternalMemoryDevice device = DeviceOf(*application);
    Result<ImportedBuffer> input = ImportOpaqueFd(device, in.fd, in.size, in.memory_type);
    ASSERT_TRUE(input.ok()) << input.status().message();
    Result<ImportedBuffer> output = ImportOpaqueFd(device, out.fd, out.size, out.memory_type);
    ASSERT_TRUE(output.ok()) << output.status().message();
    const AdoptedDevice adopted = application->Adoptable();
    RuntimeOptions options;
    options.libraries = {&AllShaders()};
    options.adopt = &adopted;
    options.cache_dir = "none";
    Result<Runtime> runtime = Runtime::Create(options);
    ASSERT_TRUE(runtime.ok()) << runtime.status().message();
    Result<Model> model = Model::LoadFromMemory(*runtime, Relu());
    ASSERT_TRUE(model.ok()) << model.status().message();
    ASSERT_TRUE(model->BindInput(0, input->range()).ok());
    ASSERT_TRUE(model->BindOutput(0, output->range()).ok());
    const std::array<float, 4> values = {-1, 2, -3, 4};
    std::copy(values.begin(), values.end(), static_cast<float*>(in.mapped));
    ASSERT_TRUE(model->Run().ok());
    EXPECT_THAT(std::span(static_cast<const float*>(out.mapped), 4), ElementsAre(0, 2, 0, 4));
  }
  EXPECT_THAT(application->messages(), ElementsAre()) << "validation messages";
}

TEST(ExternalMemoryTest, AFailedImportLeavesTheDescriptorToTheCaller) {
  const std::unique_ptr<Application> application = Application::Create();
  if (application == nullptr) GTEST_SKIP() << "The validation layer or a feature is missing.";
  const ExternalMemoryDevice device = DeviceOf(*application);
  EXPECT_THAT(
      ImportOpaqueFd(device, 0, 0, 99).status().message(),
      HasSubstr("Memory type 99 or size 0 is invalid; expected less than 32 and at least 1."));
  AHardwareBuffer* none = nullptr;
  EXPECT_EQ(ImportHardwareBuffer(device, none).status().message(), "The hardware buffer is null.");
  char storage = 0;
  const Status status =
      ImportHardwareBuffer(device, reinterpret_cast<AHardwareBuffer*>(&storage)).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(),
            "The device has no function vkGetAndroidHardwareBufferPropertiesANDROID. Enable "
            "VK_ANDROID_external_memory_android_hardware_buffer in VkDeviceCreateInfo.");
  if (application->exports_fds()) {
    const ExportedBuffer exported = application->ExportBuffer(kSize);
    // No buffer has this memory type.
    const Result<ImportedBuffer> result =
        ImportOpaqueFd(device, exported.fd, kSize, /*memory_type=*/31);
    EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
    EXPECT_EQ(close(exported.fd), 0);
  }
}

}  // namespace
}  // namespace spirloom
