#include "runtime/vulkan/command_buffer.h"

#include <cassert>

namespace spirloom::vulkan {

Result<CommandBuffer> CommandBuffer::Create(const Device& device) {
  SPIRLOOM_TRY_ASSIGN(std::vector<CommandBuffer> buffers, Create(device, 1));
  return std::move(buffers.front());
}

Result<std::vector<CommandBuffer>> CommandBuffer::Create(const Device& device, size_t count) {
  std::vector<CommandBuffer> buffers;
  if (count == 0) return buffers;
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool_info.queueFamilyIndex = device.queue_family();
  VkCommandPool handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(ToStatus(
      device.fn().vkCreateCommandPool(device.handle(), &pool_info, device.allocator(), &handle),
      "vkCreateCommandPool"));
  const auto pool = std::make_shared<const Pool>(device, handle);
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = handle;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = static_cast<uint32_t>(count);
  std::vector<VkCommandBuffer> handles(count);
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkAllocateCommandBuffers(device.handle(), &info, handles.data()),
               "vkAllocateCommandBuffers"));
  buffers.reserve(count);
  for (const VkCommandBuffer buffer : handles) buffers.push_back(CommandBuffer(pool, buffer));
  return buffers;
}

Status CommandBuffer::Begin(VkCommandBufferUsageFlags usage) {
  pool_->device().counters().recordings.fetch_add(1);
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = usage;
  return ToStatus(fn().vkBeginCommandBuffer(handle_, &info), "vkBeginCommandBuffer");
}

Status CommandBuffer::End() {
  return ToStatus(fn().vkEndCommandBuffer(handle_), "vkEndCommandBuffer");
}

void CommandBuffer::BindPipeline(const ComputePipeline& pipeline) {
  fn().vkCmdBindPipeline(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle());
}

void CommandBuffer::BindDescriptorSet(const BindingLayout& layout, VkDescriptorSet set) {
  fn().vkCmdBindDescriptorSets(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, layout.pipeline,
                               /*firstSet=*/0, /*descriptorSetCount=*/1, &set,
                               /*dynamicOffsetCount=*/0, nullptr);
}

void CommandBuffer::PushConstants(const BindingLayout& layout, std::span<const std::byte> data) {
  if (data.empty()) return;
  assert(data.size() % 4 == 0);
  fn().vkCmdPushConstants(handle_, layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, /*offset=*/0,
                          static_cast<uint32_t>(data.size()), data.data());
}

void CommandBuffer::Dispatch(const std::array<uint32_t, 3>& base,
                             const std::array<uint32_t, 3>& groups) {
  assert(groups[0] > 0 && groups[1] > 0 && groups[2] > 0);
  fn().vkCmdDispatchBase(handle_, base[0], base[1], base[2], groups[0], groups[1], groups[2]);
}

void CommandBuffer::CopyBuffer(VkBuffer source, VkDeviceSize source_offset, VkBuffer target,
                               VkDeviceSize target_offset, VkDeviceSize size) {
  assert(size > 0);
  const VkBufferCopy region{.srcOffset = source_offset, .dstOffset = target_offset, .size = size};
  fn().vkCmdCopyBuffer(handle_, source, target, /*regionCount=*/1, &region);
}

void CommandBuffer::Barrier(VkPipelineStageFlags source, VkPipelineStageFlags target,
                            std::span<const VkMemoryBarrier> memory,
                            std::span<const VkBufferMemoryBarrier> buffers,
                            std::span<const VkImageMemoryBarrier> images) {
  fn().vkCmdPipelineBarrier(handle_, source, target, /*dependencyFlags=*/0,
                            static_cast<uint32_t>(memory.size()), memory.data(),
                            static_cast<uint32_t>(buffers.size()), buffers.data(),
                            static_cast<uint32_t>(images.size()), images.data());
}

void CommandBuffer::ResetTimestamps(const TimestampPool& pool) {
  fn().vkCmdResetQueryPool(handle_, pool.handle(), /*firstQuery=*/0, pool.count());
}

void CommandBuffer::WriteTimestamp(const TimestampPool& pool, uint32_t query,
                                   VkPipelineStageFlagBits stage) {
  assert(query < pool.count());
  fn().vkCmdWriteTimestamp(handle_, stage, pool.handle(), query);
}

}  // namespace spirloom::vulkan
