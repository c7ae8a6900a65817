// The Vulkan functions that the runtime calls, in tables of its own: it defines no symbol of
// Vulkan's, which a program that links it may well have.
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
  X(vkGetPhysicalDeviceProperties)            \
  X(vkGetPhysicalDeviceProperties2)           \
  X(vkGetPhysicalDeviceQueueFamilyProperties)

// The last ones are the tests' alone.
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
  X(vkCmdDispatch)                   \
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
  X(vkQueueWaitIdle)                 \
  X(vkResetFences)                   \
  X(vkUpdateDescriptorSets)          \
  X(vkWaitForFences)                 \
  X(vkCmdCopyBufferToImage)          \
  X(vkCmdCopyImageToBuffer)          \
  X(vkCmdFillBuffer)

namespace spirloom::vulkan {

#define SPIRLOOM_DECLARE(name) PFN_##name name = nullptr;

// Of one instance.
struct InstanceFunctions {
  SPIRLOOM_INSTANCE_FUNCTIONS(SPIRLOOM_DECLARE)

  // Fails with kUnavailable, naming a function that is not there.
  Status Load(PFN_vkGetInstanceProcAddr get, VkInstance instance);
};

// Of one device, without the loader's dispatch.
struct DeviceFunctions {
  SPIRLOOM_DEVICE_FUNCTIONS(SPIRLOOM_DECLARE)

  // Fails with kUnavailable, naming a function that is not there.
  Status Load(PFN_vkGetDeviceProcAddr get, VkDevice device);
};

#undef SPIRLOOM_DECLARE

// The Vulkan loader's vkGetInstanceProcAddr; the loader is looked for once per process, and stays.
// Fails with kUnavailable, naming the remedy.
Result<PFN_vkGetInstanceProcAddr> LoadLoader();

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_FUNCTIONS_H_
