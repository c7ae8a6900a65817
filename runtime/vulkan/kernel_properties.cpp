#include "runtime/vulkan/kernel_properties.h"

#include <algorithm>
#include <thread>

#include "runtime/vulkan/host_cache.h"

namespace spirloom::vulkan {
namespace {

// Estimates for drivers that report nothing (Intel, Qualcomm, Imagination, Broadcom, Apple):
// current integrated GPUs have 2 to 16 units, discrete ones 16 to 64.
constexpr uint32_t kIntegratedCores = 8;
constexpr uint32_t kDiscreteCores = 32;

// Queries one struct of properties, if the device has its extension.
template <typename Properties>
Properties Query(const InstanceFunctions& fn, const PhysicalDevice& device, const char* extension,
                 VkStructureType type) {
  Properties properties{};
  if (!device.HasExtension(extension)) return properties;
  properties.sType = type;
  VkPhysicalDeviceProperties2 chain{};
  chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  chain.pNext = &properties;
  fn.vkGetPhysicalDeviceProperties2(device.handle, &chain);
  return properties;
}

uint32_t ReportedCores(const InstanceFunctions& fn, const PhysicalDevice& device) {
  const auto nv = Query<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(
      fn, device, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
  if (nv.shaderSMCount > 0) return nv.shaderSMCount;
  const auto amd2 = Query<VkPhysicalDeviceShaderCoreProperties2AMD>(
      fn, device, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD);
  if (amd2.activeComputeUnitCount > 0) return amd2.activeComputeUnitCount;
  const auto amd = Query<VkPhysicalDeviceShaderCorePropertiesAMD>(
      fn, device, VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
  const uint32_t units =
      amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
  if (units > 0) return units;
  return Query<VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM>(
             fn, device, VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM)
      .shaderCoreCount;
}

}  // namespace

uint32_t CoreCount(const InstanceFunctions& fn, const PhysicalDevice& device) {
  const uint32_t reported = ReportedCores(fn, device);
  if (reported > 0) return reported;
  switch (device.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return std::max(std::thread::hardware_concurrency(), 1U);
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return kDiscreteCores;
    default:
      return kIntegratedCores;
  }
}

pack::DeviceProperties KernelProperties(
    const InstanceFunctions& fn, const PhysicalDevice& device,
    const VkPhysicalDeviceSubgroupProperties& subgroup,
    const VkPhysicalDeviceSubgroupSizeControlProperties& sizes) {
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  pack::DeviceProperties properties;
  properties.is_cpu = device.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  properties.integrated = device.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  properties.cores = CoreCount(fn, device);
  properties.subgroup_size = subgroup.subgroupSize;
  const bool varies = sizes.minSubgroupSize > 0;
  properties.min_subgroup_size = varies ? sizes.minSubgroupSize : subgroup.subgroupSize;
  properties.max_subgroup_size = varies ? sizes.maxSubgroupSize : subgroup.subgroupSize;
  properties.max_workgroup = limits.maxComputeWorkGroupInvocations;
  properties.shared_memory = limits.maxComputeSharedMemorySize;
  properties.storage_alignment = static_cast<int64_t>(limits.minStorageBufferOffsetAlignment);
  properties.cache_size = properties.is_cpu ? HostCacheSize() : 0;
  properties.quad_matrices = device.quirks.quad_matrices != 0;
  properties.registers = device.quirks.registers;
  properties.max_loop_iterations = device.quirks.max_loop_iterations;
  return properties;
}

}  // namespace spirloom::vulkan
