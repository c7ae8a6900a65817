// Intercepted functions that record and submit commands: dispatched workgroups, barriers, and a
// watchdog.
#ifndef SPIRLOOM_TESTS_FAULTS_SUBMISSIONS_H_
#define SPIRLOOM_TESTS_FAULTS_SUBMISSIONS_H_

#include <vulkan/vulkan_core.h>

namespace spirloom::faults {

VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer commands,
                                                  const VkCommandBufferBeginInfo* info);
VKAPI_ATTR void VKAPI_CALL CmdDispatchBase(VkCommandBuffer commands, uint32_t x, uint32_t y,
                                           uint32_t z, uint32_t width, uint32_t height,
                                           uint32_t layers);
VKAPI_ATTR void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags source,
                                              VkPipelineStageFlags target, VkDependencyFlags flags,
                                              uint32_t memory_count, const VkMemoryBarrier* memory,
                                              uint32_t buffer_count,
                                              const VkBufferMemoryBarrier* buffers,
                                              uint32_t image_count,
                                              const VkImageMemoryBarrier* images);
VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                           VkFence fence);

}  // namespace spirloom::faults

#endif  // SPIRLOOM_TESTS_FAULTS_SUBMISSIONS_H_
