// Tables of the Vulkan functions that the runtime calls. The runtime defines no Vulkan symbols, to
// avoid conflicts with programs that link it.
#ifndef SPIRLOOM_RUNTIME_VULKAN_FUNCTIONS_H_
#define SPIRLOOM_RUNTIME_VULKAN_FUNCTIONS_H_

#include "runtime/vulkan/vk.h"

#define SPIRLOOM_INSTANCE_FUNCTIONS(X)        \
  X(vkCreateDevice)                           \
  X(vkDestroyInstance)                        \
  X(vkEnumerateDeviceExtensionProperties)     \
  X(vkEnumeratePhysicalDevices)               \
  X(vkGetDeviceProcAddr)                      \
  X(vkGetPhysicalDeviceFeatures2)             \
  X(vkGetPhysicalDeviceImageFormatProperties) \
  X(vkGetPhysicalDeviceMemoryProperties)      \
  X(vkGetPhysicalDeviceMemoryProperties2)     \
  X(vkGetPhysicalDeviceProperties)            \
  X(vkGetPhysicalDeviceProperties2)           \
  X(vkGetPhysicalDeviceQueueFamilyProperties)

// The last two are only used by tests.
#define SPIRLOOM_DEVICE_FUNCTIONS(X) \
  X(vkAllocateCommandBuffers)        \
  X(vkAllocateDescriptorSets)        \
  X(vkAllocateMemory)                \
  X(vkBeginCommandBuffer)            \
  X(vkBindBufferMemory)              \
  X(vkBindImageMemory)               \
  X(vkCmdBindDescriptorSets)         \
  X(vkCmdBindPipeline)               \
  X(vkCmdCopyBuffer)                 \
  X(vkCmdDispatchBase)               \
  X(vkCmdFillBuffer)                 \
  X(vkCmdPipelineBarrier)            \
  X(vkCmdPushConstants)              \
  X(vkCmdResetQueryPool)             \
  X(vkCmdWriteTimestamp)             \
  X(vkCreateBuffer)                  \
  X(vkCreateBufferView)              \
  X(vkCreateCommandPool)             \
  X(vkCreateComputePipelines)        \
  X(vkCreateDescriptorPool)          \
  X(vkCreateDescriptorSetLayout)     \
  X(vkCreateFence)                   \
  X(vkCreateImage)                   \
  X(vkCreateImageView)               \
  X(vkCreatePipelineCache)           \
  X(vkCreatePipelineLayout)          \
  X(vkCreateQueryPool)               \
  X(vkCreateShaderModule)            \
  X(vkDestroyBuffer)                 \
  X(vkDestroyBufferView)             \
  X(vkDestroyCommandPool)            \
  X(vkDestroyDescriptorPool)         \
  X(vkDestroyDescriptorSetLayout)    \
  X(vkDestroyDevice)                 \
  X(vkDestroyFence)                  \
  X(vkDestroyImage)                  \
  X(vkDestroyImageView)              \
  X(vkDestroyPipeline)               \
  X(vkDestroyPipelineCache)          \
  X(vkDestroyPipelineLayout)         \
  X(vkDestroyQueryPool)              \
  X(vkDestroyShaderModule)           \
  X(vkDeviceWaitIdle)                \
  X(vkEndCommandBuffer)              \
  X(vkFreeMemory)                    \
  X(vkGetBufferMemoryRequirements)   \
  X(vkGetDeviceQueue)                \
  X(vkGetFenceStatus)                \
  X(vkGetImageMemoryRequirements)    \
  X(vkGetPipelineCacheData)          \
  X(vkGetQueryPoolResults)           \
  X(vkMapMemory)                     \
  X(vkQueueSubmit)                   \
  X(vkResetFences)                   \
  X(vkUpdateDescriptorSets)          \
  X(vkWaitForFences)                 \
  X(vkCmdCopyBufferToImage)          \
  X(vkCmdCopyImageToBuffer)

namespace spirloom::vulkan {

#define SPIRLOOM_DECLARE(name) PFN_##name name = nullptr;

// Functions of an instance.
struct InstanceFunctions {
  SPIRLOOM_INSTANCE_FUNCTIONS(SPIRLOOM_DECLARE)

  // Fails with kUnavailable if a function is missing.
  Status Load(PFN_vkGetInstanceProcAddr get, VkInstance instance);
};

// Functions of a device, without the dispatch of the loader.
struct DeviceFunctions {
  SPIRLOOM_DEVICE_FUNCTIONS(SPIRLOOM_DECLARE)

  // Fails with kUnavailable if a function is missing.
  Status Load(PFN_vkGetDeviceProcAddr get, VkDevice device);
};

#undef SPIRLOOM_DECLARE

// The Vulkan loader's vkGetInstanceProcAddr. The loader is opened once per process and remains
// loaded. Fails with kUnavailable; the message contains the remedy.
Result<PFN_vkGetInstanceProcAddr> LoadLoader();

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_FUNCTIONS_H_
