// Selection of a device by index, name or default. Without Vulkan.
#include <gtest/gtest.h>

#include "runtime/vulkan/physical_device.h"
#include "tests/value_of.h"

namespace spirloom::vulkan {
namespace {

DeviceInfo Named(const std::string& name, bool usable = true) {
  DeviceInfo info;
  info.name = name;
  info.api_version = usable ? "1.3.230" : "1.0.68";
  info.usable = usable;
  return info;
}

const std::vector<DeviceInfo> kDevices = {Named("Old GPU 900", false), Named("Fast GPU 4090"),
                                          Named("llvmpipe")};

TEST(ChooseDevice, SelectsTheFirstUsableDeviceByDefault) {
  const auto chosen = ChooseDevice(kDevices, "");
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(*chosen, 1U);
}

TEST(ChooseDevice, SelectsByIndex) { EXPECT_EQ(ValueOf(ChooseDevice(kDevices, "2")), 2U); }

TEST(ChooseDevice, SelectsByPartOfAName) {
  EXPECT_EQ(ValueOf(ChooseDevice(kDevices, "LLVM")), 2U);
  EXPECT_EQ(ValueOf(ChooseDevice(kDevices, "fast gpu")), 1U);
}

TEST(ChooseDevice, ANumberIsAnIndex) {
  EXPECT_EQ(ValueOf(ChooseDevice(kDevices, "gpu 4090")), 1U);
  for (const std::string number : {"4090", "3", "-1", "18446744073709551616", "900"}) {
    const Status status = ChooseDevice(kDevices, number).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "Device " + number +
                                    " does not exist. Devices: 0: Old GPU 900, "
                                    "1: Fast GPU 4090, 2: llvmpipe.");
  }
}

TEST(ChooseDevice, SelectsByUuidLuidAndPciAddress) {
  std::vector<DeviceInfo> equal = {Named("GPU"), Named("GPU"), Named("GPU")};
  equal[1].uuid = "uuid:00112233445566778899aabbccddeeff";
  equal[1].luid = "luid:0011223344556677";
  equal[2].pci = "pci:0000:01:00.0";
  EXPECT_EQ(ValueOf(ChooseDevice(equal, "uuid:00112233445566778899AABBCCDDEEFF")), 1U);
  EXPECT_EQ(ValueOf(ChooseDevice(equal, "luid:0011223344556677")), 1U);
  EXPECT_EQ(ValueOf(ChooseDevice(equal, "pci:0000:01:00.0")), 2U);
  EXPECT_EQ(ChooseDevice(equal, "pci:0000:02:00.0").status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(ChooseDevice({Named("Emulator of pci:0000:02:00.0")}, "pci:0000:02:00.0").ok());
}

TEST(ChooseDevice, SelectsOnlyAcceptedDevices) {
  const auto software = [](const DeviceInfo& device) { return device.name == "llvmpipe"; };
  EXPECT_EQ(ValueOf(ChooseDevice(kDevices, "", software)), 2U);
  EXPECT_EQ(ValueOf(ChooseDevice(kDevices, "2", software)), 2U);
  const Status status = ChooseDevice(kDevices, "1", software).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("'1' and RuntimeOptions::accept"), std::string::npos);
}

TEST(ChooseDevice, PrefersAUsableMatch) { EXPECT_EQ(ValueOf(ChooseDevice(kDevices, "gpu")), 1U); }

TEST(ChooseDevice, ListsTheDevicesWhenNoneMatches) {
  const Status status = ChooseDevice(kDevices, "radeon").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "No device matches 'radeon'. Select one by index, part of its name, uuid, luid or pci "
            "address: 0: Old GPU 900, 1: Fast GPU 4090, 2: llvmpipe.");
}

TEST(ChooseDevice, RejectsAnOldDevice) {
  for (const char* choice : {"0", "old"}) {
    const Status status = ChooseDevice(kDevices, choice).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_EQ(status.message(),
              "The device 'Old GPU 900' (Vulkan 1.0.68) is not supported. Spirloom requires Vulkan "
              "1.1 and a compute queue.");
  }
  EXPECT_EQ(ChooseDevice({Named("Old", false)}, "").status().code(), StatusCode::kUnsupported);
}

TEST(ChooseDevice, ReportsThatThereAreNoDevices) {
  const Status status = ChooseDevice({}, "0").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("No Vulkan device found"), std::string::npos);
}

}  // namespace
}  // namespace spirloom::vulkan
