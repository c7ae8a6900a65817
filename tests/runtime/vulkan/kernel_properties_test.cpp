// The properties of kernel selection, with the reports of several drivers.
#include "runtime/vulkan/kernel_properties.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace spirloom::vulkan {
namespace {

constexpr uint32_t kReported = 20;

// Reports kReported cores in each known struct: as 2 engines * 5 arrays * 2 units in the oldest
// one.
VKAPI_ATTR void VKAPI_CALL Report(VkPhysicalDevice /*device*/, VkPhysicalDeviceProperties2* chain) {
  auto* next = static_cast<VkBaseOutStructure*>(chain->pNext);
  switch (next->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV:
      reinterpret_cast<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV*>(next)->shaderSMCount =
          kReported;
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD:
      reinterpret_cast<VkPhysicalDeviceShaderCoreProperties2AMD*>(next)->activeComputeUnitCount =
          kReported;
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD: {
      auto* amd = reinterpret_cast<VkPhysicalDeviceShaderCorePropertiesAMD*>(next);
      amd->shaderEngineCount = 2;
      amd->shaderArraysPerEngineCount = 5;
      amd->computeUnitsPerShaderArray = 2;
      break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM:
      reinterpret_cast<VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM*>(next)->shaderCoreCount =
          kReported;
      break;
    default:
      FAIL() << "unexpected struct " << next->sType;
  }
}

InstanceFunctions Driver() {
  InstanceFunctions fn{};
  fn.vkGetPhysicalDeviceProperties2 = Report;
  return fn;
}

PhysicalDevice DeviceOf(VkPhysicalDeviceType type, std::vector<std::string> extensions = {}) {
  PhysicalDevice device;
  device.properties.deviceType = type;
  device.extensions = std::move(extensions);
  return device;
}

TEST(CoreCount, IsReportedByExtensions) {
  for (const char* extension :
       {VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME,
        VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME, VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME}) {
    const PhysicalDevice device = DeviceOf(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, {extension});
    EXPECT_EQ(CoreCount(Driver(), device), kReported) << extension;
  }
}

TEST(CoreCount, IsEstimatedWithoutReport) {
  EXPECT_EQ(CoreCount(Driver(), DeviceOf(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU)), 32U);
  EXPECT_EQ(CoreCount(Driver(), DeviceOf(VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU)), 8U);
  EXPECT_EQ(CoreCount(Driver(), DeviceOf(VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU)), 8U);
  EXPECT_EQ(CoreCount(Driver(), DeviceOf(VK_PHYSICAL_DEVICE_TYPE_CPU)),
            std::max(std::thread::hardware_concurrency(), 1U));
}

TEST(KernelProperties, FollowTypeAndLimits) {
  PhysicalDevice device = DeviceOf(VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
  device.properties.limits.maxComputeWorkGroupInvocations = 512;
  device.properties.limits.maxComputeSharedMemorySize = 32768;
  device.properties.limits.minStorageBufferOffsetAlignment = 64;
  VkPhysicalDeviceSubgroupProperties subgroup{};
  subgroup.subgroupSize = 16;
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{};
  const pack::DeviceProperties fixed = KernelProperties(Driver(), device, subgroup, sizes);
  EXPECT_TRUE(fixed.integrated);
  EXPECT_FALSE(fixed.is_cpu);
  EXPECT_EQ(fixed.max_workgroup, 512);
  EXPECT_EQ(fixed.shared_memory, 32768);
  EXPECT_EQ(fixed.storage_alignment, 64);
  EXPECT_EQ(fixed.min_subgroup_size, 16);
  EXPECT_EQ(fixed.max_subgroup_size, 16);
  EXPECT_EQ(fixed.cache_size, 0);
  EXPECT_EQ(fixed.max_loop_iterations, pack::DeviceProperties::kUnlimited);
  sizes.minSubgroupSize = 8;
  sizes.maxSubgroupSize = 32;
  device.quirks.max_loop_iterations = 65535;
  const pack::DeviceProperties varying = KernelProperties(Driver(), device, subgroup, sizes);
  EXPECT_EQ(varying.subgroup_size, 16);
  EXPECT_EQ(varying.min_subgroup_size, 8);
  EXPECT_EQ(varying.max_subgroup_size, 32);
  EXPECT_EQ(varying.max_loop_iterations, 65535);
}

TEST(DeviceProperties, AreSetByName) {
  pack::DeviceProperties device;
  EXPECT_TRUE(pack::SetDeviceProperty(device, "cores", 5));
  EXPECT_TRUE(pack::SetDeviceProperty(device, "is_cpu", 1));
  EXPECT_FALSE(pack::SetDeviceProperty(device, "no_such", 1));
  EXPECT_EQ(device.cores, 5);
  EXPECT_TRUE(device.is_cpu);
  const auto values = pack::DevicePropertyValues(device);
  EXPECT_EQ(values[*pack::FindDeviceProperty("cores")], 5);
  EXPECT_EQ(values[*pack::FindDeviceProperty("is_cpu")], 1);
  EXPECT_FALSE(pack::FindDeviceProperty("no_such").has_value());
}

}  // namespace
}  // namespace spirloom::vulkan
