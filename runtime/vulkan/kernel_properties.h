// The properties of a device that kernel selection uses.
#ifndef SPIRLOOM_RUNTIME_VULKAN_KERNEL_PROPERTIES_H_
#define SPIRLOOM_RUNTIME_VULKAN_KERNEL_PROPERTIES_H_

#include <cstdint>

#include "runtime/pack/device_properties.h"
#include "runtime/vulkan/physical_device.h"

namespace spirloom::vulkan {

// Returns the streaming multiprocessors, compute units or shader cores that the driver reports
// (VK_NV_shader_sm_builtins, VK_AMD_shader_core_properties2, VK_AMD_shader_core_properties,
// VK_ARM_shader_core_builtins), for a CPU device the hardware threads, and otherwise an estimate
// from the device's type. At least 1. `device.extensions` must be set.
uint32_t CoreCount(const InstanceFunctions& fn, const PhysicalDevice& device);

// Returns the properties of a device with Vulkan 1.1, whose `quirks` must be set. `sizes` is zero
// if the device has no subgroup size control.
pack::DeviceProperties KernelProperties(const InstanceFunctions& fn, const PhysicalDevice& device,
                                        const VkPhysicalDeviceSubgroupProperties& subgroup,
                                        const VkPhysicalDeviceSubgroupSizeControlProperties& sizes);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_KERNEL_PROPERTIES_H_
