// VK_EXT_device_fault: the error of a lost device contains the cause that the driver reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/faults/fault_fixture.h"
#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom::faults {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kPlenty = uint64_t{1} << 40;

// The error of a run whose wait loses the device.
Status Lost(bool described) {
  Faults().emulate_extensions(described ? kPlenty : 0, 0);
  const Runtime runtime = ValueOf(MakeRuntime());
  Model model = ValueOf(Model::LoadFromMemory(runtime, SmallGraph().Write()));
  Faults().set({.only = "vkWaitForFences", .code = VK_ERROR_DEVICE_LOST});
  const Status status = RunModel(model, {Floats(6)}).status();
  Faults().clear();
  Faults().emulate_extensions(0, 0);
  return status;
}

TEST(DeviceFaultTest, TheMessageHasTheDescriptionAndTheAddresses) {
  if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  const Status status = Lost(/*described=*/true);
  EXPECT_EQ(status.code(), StatusCode::kDeviceLost);
  EXPECT_THAT(status.message(),
              HasSubstr("vkWaitForFences returns VK_ERROR_DEVICE_LOST. The driver reports: \"Page "
                        "fault\", invalid write of 0x00007f0012345000 to 0x00007f0012345fff, "
                        "faulting instruction at 0x000000000000abc0, \"Shader engine\" (code 7, "
                        "data 9). The device '"));
}

TEST(DeviceFaultTest, DevicesWithoutTheExtension) {
  if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  const Status status = Lost(/*described=*/false);
  EXPECT_EQ(status.code(), StatusCode::kDeviceLost);
  EXPECT_THAT(status.message(), HasSubstr("returns VK_ERROR_DEVICE_LOST. The device '"));
  EXPECT_THAT(status.message(), Not(HasSubstr("The driver reports")));
}

}  // namespace
}  // namespace spirloom::faults
