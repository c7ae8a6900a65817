// Extensions and tools that devices seem to have: VulkanFaults::emulate_extensions(),
// emulate_tool().
#ifndef SPIRLOOM_TESTS_FAULTS_EMULATED_EXTENSIONS_H_
#define SPIRLOOM_TESTS_FAULTS_EMULATED_EXTENSIONS_H_

#include <vulkan/vulkan_core.h>

namespace spirloom::faults {

VKAPI_ATTR VkResult VKAPI_CALL EnumerateExtensions(VkPhysicalDevice device, const char* layer,
                                                   uint32_t* count,
                                                   VkExtensionProperties* extensions);
VKAPI_ATTR void VKAPI_CALL MemoryProperties2(VkPhysicalDevice device,
                                             VkPhysicalDeviceMemoryProperties2* properties);
VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice physical,
                                            const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* allocator,
                                            VkDevice* device);
VKAPI_ATTR VkResult VKAPI_CALL GetDeviceFaultInfo(VkDevice device, VkDeviceFaultCountsEXT* counts,
                                                  VkDeviceFaultInfoEXT* info);
VKAPI_ATTR VkResult VKAPI_CALL ToolProperties(VkPhysicalDevice device, uint32_t* count,
                                              VkPhysicalDeviceToolProperties* tools);
VKAPI_ATTR void VKAPI_CALL BeginLabel(VkCommandBuffer commands, const VkDebugUtilsLabelEXT* label);

}  // namespace spirloom::faults

#endif  // SPIRLOOM_TESTS_FAULTS_EMULATED_EXTENSIONS_H_
