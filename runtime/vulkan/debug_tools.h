// Debuggers and profilers that are attached to a device.
#ifndef SPIRLOOM_RUNTIME_VULKAN_DEBUG_TOOLS_H_
#define SPIRLOOM_RUNTIME_VULKAN_DEBUG_TOOLS_H_

#include "runtime/vulkan/instance.h"
#include "runtime/vulkan/physical_device.h"

namespace spirloom::vulkan {

// Whether a tool uses the names of objects and the labels of command buffers, as RenderDoc, Nsight
// and the validation layer do: vkGetPhysicalDeviceToolProperties() of Vulkan 1.3 or of
// VK_EXT_tooling_info. False if the device has neither.
bool HasDebugTool(const Instance& instance, const PhysicalDevice& physical);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_DEBUG_TOOLS_H_
