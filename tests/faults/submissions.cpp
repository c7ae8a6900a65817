#include "tests/faults/submissions.h"

#include <algorithm>

#include "tests/faults/intercepted.h"

namespace spirloom::faults {
namespace {

// Whether the submission exceeds the watchdog, which then loses the device.
bool IsTooLong(uint32_t count, const VkSubmitInfo* infos) {
  const std::scoped_lock lock(state.mutex);
  uint64_t workgroups = 0;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t k = 0; k < infos[i].commandBufferCount; ++k) {
      workgroups += state.workgroups[infos[i].pCommandBuffers[k]];
      state.stages_after = state.last_barriers[infos[i].pCommandBuffers[k]];
    }
  }
  state.largest_submission = std::max(state.largest_submission, workgroups);
  if (state.watchdog == 0 || workgroups <= state.watchdog) return false;
  state.fault = Fault{.code = VK_ERROR_DEVICE_LOST};
  state.failed = "vkQueueSubmit";
  return true;
}

}  // namespace

VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer commands,
                                                  const VkCommandBufferBeginInfo* info) {
  {
    const std::scoped_lock lock(state.mutex);
    state.workgroups[commands] = 0;
    state.last_barriers[commands] = 0;
  }
  using Call = Failing<kNone, kName_vkBeginCommandBuffer, PFN_vkBeginCommandBuffer>;
  return Call::Call(commands, info);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatchBase(VkCommandBuffer commands, uint32_t x, uint32_t y,
                                           uint32_t z, uint32_t width, uint32_t height,
                                           uint32_t layers) {
  const InDriver in_driver;
  {
    const std::scoped_lock lock(state.mutex);
    state.workgroups[commands] += uint64_t{width} * height * layers;
  }
  Real<PFN_vkCmdDispatchBase>("vkCmdDispatchBase")(commands, x, y, z, width, height, layers);
}

VKAPI_ATTR void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags source,
                                              VkPipelineStageFlags target, VkDependencyFlags flags,
                                              uint32_t memory_count, const VkMemoryBarrier* memory,
                                              uint32_t buffer_count,
                                              const VkBufferMemoryBarrier* buffers,
                                              uint32_t image_count,
                                              const VkImageMemoryBarrier* images) {
  const InDriver in_driver;
  {
    const std::scoped_lock lock(state.mutex);
    state.last_barriers[commands] = target;
  }
  Real<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(commands, source, target, flags,
                                                         memory_count, memory, buffer_count,
                                                         buffers, image_count, images);
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                           VkFence fence) {
  if (IsTooLong(count, infos)) {
    const InDriver in_driver;
    Real<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(state.device);
    return VK_ERROR_DEVICE_LOST;
  }
  using Call = Failing<kNone, kName_vkQueueSubmit, PFN_vkQueueSubmit>;
  return Call::Call(queue, count, infos, fence);
}

}  // namespace spirloom::faults
