#ifndef SPIRLOOM_RUNTIME_VULKAN_COMMAND_BUFFER_H_
#define SPIRLOOM_RUNTIME_VULKAN_COMMAND_BUFFER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/pipeline.h"
#include "runtime/vulkan/timestamps.h"

namespace spirloom::vulkan {

// A primary command buffer. Command buffers of one pool must be recorded and destroyed by one
// thread at a time. It may be submitted repeatedly, but not concurrently; the objects it uses must
// outlive its last execution.
class CommandBuffer {
 public:
  // Creates a command buffer with a pool of its own.
  static Result<CommandBuffer> Create(const Device& device);
  // Creates `count` command buffers of one pool, which lives as long as any of them.
  static Result<std::vector<CommandBuffer>> Create(const Device& device, size_t count);

  // Restarts recording.
  Status Begin(VkCommandBufferUsageFlags usage = 0);
  Status End();

  void BindPipeline(const ComputePipeline& pipeline);
  void BindDescriptorSet(const BindingLayout& layout, VkDescriptorSet set);
  // `data` is the entire push constant block, a multiple of 4 bytes; does nothing if it is empty.
  void PushConstants(const BindingLayout& layout, std::span<const std::byte> data);
  // Dispatches workgroups [base, base + groups) of each dimension, which must be within the
  // device's maxComputeWorkGroupCount. A base above 0 requires
  // VK_PIPELINE_CREATE_DISPATCH_BASE_BIT.
  void Dispatch(const std::array<uint32_t, 3>& base, const std::array<uint32_t, 3>& groups);
  void CopyBuffer(VkBuffer source, VkDeviceSize source_offset, VkBuffer target,
                  VkDeviceSize target_offset, VkDeviceSize size);
  void Barrier(VkPipelineStageFlags source, VkPipelineStageFlags target,
               std::span<const VkMemoryBarrier> memory,
               std::span<const VkBufferMemoryBarrier> buffers,
               std::span<const VkImageMemoryBarrier> images);
  // Required before the first WriteTimestamp() of each execution.
  void ResetTimestamps(const TimestampPool& pool);
  // Writes a timestamp when all preceding commands have completed `stage`.
  void WriteTimestamp(const TimestampPool& pool, uint32_t query, VkPipelineStageFlagBits stage);

  // Open and close a labeled range, as Device::BeginLabel() does.
  void BeginLabel(const std::string& label) { pool_->device().BeginLabel(handle_, label); }
  void EndLabel() { pool_->device().EndLabel(handle_); }

  VkCommandBuffer handle() const { return handle_; }

 private:
  using Pool = DeviceHandle<VkCommandPool, &DeviceFunctions::vkDestroyCommandPool>;

  CommandBuffer(std::shared_ptr<const Pool> pool, VkCommandBuffer handle)
      : pool_(std::move(pool)), handle_(handle) {}
  const DeviceFunctions& fn() const { return pool_->device().fn(); }

  std::shared_ptr<const Pool> pool_;
  VkCommandBuffer handle_;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_COMMAND_BUFFER_H_
