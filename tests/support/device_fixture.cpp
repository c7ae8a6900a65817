#include "tests/support/device_fixture.h"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "compiler/glsl/glsl_to_spirv.h"
#include "runtime/pack/capability.h"
#include "runtime/vulkan/instance.h"
#include "runtime/vulkan/physical_device.h"

namespace spirloom::testing {
namespace {

// The instance and device of all tests; created at the first use. The device is destroyed first.
struct Shared {
  Status status;
  std::unique_ptr<vulkan::Instance> instance;
  std::unique_ptr<vulkan::Device> device;
};

Status Create(Shared& shared) {
  SPIRLOOM_TRY_ASSIGN(shared.instance, vulkan::Instance::Create({.validation = true}));
  SPIRLOOM_TRY_ASSIGN(const auto devices, vulkan::ListPhysicalDevices(*shared.instance));
  std::vector<DeviceInfo> infos;
  for (const auto& device : devices) infos.push_back(device.info);
  const char* choice = std::getenv("SPIRLOOM_DEVICE");
  SPIRLOOM_TRY_ASSIGN(const size_t chosen,
                      vulkan::ChooseDevice(infos, choice == nullptr ? "" : choice));
  SPIRLOOM_TRY_ASSIGN(shared.device, vulkan::Device::Create(*shared.instance, devices[chosen],
                                                            pack::kAllCapabilities));
  return {};
}

std::unique_ptr<Shared> shared_device;

// Destroys the device after the last test: when static objects are destroyed, those of layers and
// drivers may not exist any more.
class DestroyDevice : public ::testing::Environment {
  void TearDown() override { shared_device.reset(); }
};

Shared& GetShared() {
  if (!shared_device) {
    shared_device = std::make_unique<Shared>();
    shared_device->status = Create(*shared_device);
  }
  return *shared_device;
}

[[maybe_unused]] const auto* const destroy_device =
    ::testing::AddGlobalTestEnvironment(new DestroyDevice);  // NOLINT: owned by GoogleTest

}  // namespace

void DeviceTest::SetUp() {
  const Shared& shared = GetShared();
  if (shared.status.code() == StatusCode::kUnavailable) GTEST_SKIP() << shared.status.message();
  ASSERT_TRUE(shared.status.ok()) << shared.status.message();
  messages_before_ = instance().message_count();
}

void DeviceTest::TearDown() {
  if (GetShared().status.ok()) {
    EXPECT_EQ(instance().message_count(), messages_before_) << "Validation messages.";
  }
}

const vulkan::Device& DeviceTest::device() const { return *GetShared().device; }
const vulkan::Instance& DeviceTest::instance() const { return *GetShared().instance; }

std::string MakeTestDirectory() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string directory =
      ::testing::TempDir() + "spirloom_" + test->test_suite_name() + "_" + test->name();
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  return directory;
}

std::vector<uint32_t> CompileGlsl(const std::string& glsl) {
  auto result = compiler::GlslToSpirv(glsl, "test.comp", compiler::Target::kVulkan11);
  for (const auto& error : result.errors) ADD_FAILURE() << error.where << ": " << error.message;
  return std::move(result.words);
}

std::vector<uint32_t> ScaleShader() {
  return CompileGlsl(R"(#version 450
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(constant_id = 3) const int SCALE = 1;
layout(set = 0, binding = 0) readonly buffer Source { int source[]; };
layout(set = 0, binding = 1) writeonly buffer Target { int target[]; };
layout(push_constant) uniform Push { int offset; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < target.length()) target[i] = source[i] * SCALE + offset;
}
)");
}

}  // namespace spirloom::testing
