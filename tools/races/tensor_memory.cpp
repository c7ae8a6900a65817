#include "tools/races/tensor_memory.h"

#include <cassert>
#include <utility>

namespace spirloom::tools {
namespace {

using graph::TensorResource;
using vulkan::Buffer;

constexpr VkImageLayout kSource = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
constexpr VkImageLayout kTarget = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
constexpr VkAccessFlags kAnyAccess = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

VkBufferImageCopy WholeImage(const vulkan::Image& image) {
  VkBufferImageCopy copy{};
  copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  copy.imageExtent = image.extent();
  if (image.storage() == Storage::kTexture2D) {
    std::swap(copy.imageSubresource.layerCount, copy.imageExtent.depth);
  }
  return copy;
}

}  // namespace

void FullBarrier(vulkan::CommandBuffer& commands, std::span<const VkImageMemoryBarrier> images) {
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  memory.dstAccessMask = kAnyAccess;
  commands.Barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                   VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, {&memory, 1},
                   /*buffers=*/{}, images);
}

VkImageMemoryBarrier Transition(VkImage image, VkImageLayout from, VkImageLayout to) {
  VkImageMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = kAnyAccess;
  barrier.oldLayout = from;
  barrier.newLayout = to;
  barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, VK_REMAINING_ARRAY_LAYERS};
  return barrier;
}

Status Scratch::Execute(const std::function<void(vulkan::CommandBuffer&)>& record) {
  if (!commands_) {
    SPIRLOOM_TRY_ASSIGN(commands_, vulkan::CommandBuffer::Create(device_));
    SPIRLOOM_TRY_ASSIGN(fence_, vulkan::Fence::Create(device_));
  }
  SPIRLOOM_TRY(commands_->Begin());
  record(*commands_);
  FullBarrier(*commands_);
  SPIRLOOM_TRY(commands_->End());
  SPIRLOOM_TRY(fence_->Reset());
  SPIRLOOM_TRY(device_.Submit(commands_->handle(), fence_->handle()));
  return fence_->Wait();
}

Result<const Buffer*> Scratch::Bytes(uint64_t size) {
  if (!bytes_ || bytes_->size() < size) {
    SPIRLOOM_TRY_ASSIGN(bytes_, Buffer::Create(device_, size, vulkan::MemoryUse::kReadback));
  }
  return &*bytes_;
}

uint64_t MemoryBytes(const TensorResource& resource, DType dtype) {
  if (resource.buffer) return resource.buffer->size() + 2 * resource.buffer->offset();
  const VkExtent3D extent = resource.image->extent();
  return uint64_t{extent.width} * extent.height * extent.depth * 4 * ElementSize(dtype);
}

Status FillMemory(Scratch& scratch, const TensorResource& resource, DType dtype, std::byte value) {
  const uint32_t word = std::to_integer<uint32_t>(value) * 0x01010101;
  if (resource.buffer) {
    return scratch.Execute([&](vulkan::CommandBuffer& commands) {
      scratch.fn().vkCmdFillBuffer(commands.handle(), resource.buffer->handle(), /*dstOffset=*/0,
                                   VK_WHOLE_SIZE, word);
    });
  }
  SPIRLOOM_TRY_ASSIGN(const Buffer* texels, scratch.Bytes(MemoryBytes(resource, dtype)));
  return scratch.Execute([&](vulkan::CommandBuffer& commands) {
    scratch.fn().vkCmdFillBuffer(commands.handle(), texels->handle(), 0, VK_WHOLE_SIZE, word);
    const VkImage image = resource.image->handle();
    const VkImageMemoryBarrier before = Transition(image, VK_IMAGE_LAYOUT_UNDEFINED, kTarget);
    FullBarrier(commands, {&before, 1});
    const VkBufferImageCopy copy = WholeImage(*resource.image);
    scratch.fn().vkCmdCopyBufferToImage(commands.handle(), texels->handle(), image, kTarget,
                                        /*regionCount=*/1, &copy);
    const VkImageMemoryBarrier after = Transition(image, kTarget, VK_IMAGE_LAYOUT_GENERAL);
    FullBarrier(commands, {&after, 1});
  });
}

Result<std::span<const std::byte>> ReadMemory(Scratch& scratch, const TensorResource& resource,
                                              DType dtype, uint64_t offset, uint64_t size) {
  const uint64_t copied = resource.buffer ? size : MemoryBytes(resource, dtype);
  assert(offset + size <= MemoryBytes(resource, dtype));
  if (size == 0) return std::span<const std::byte>();
  SPIRLOOM_TRY_ASSIGN(const Buffer* host, scratch.Bytes(copied));
  SPIRLOOM_TRY(scratch.Execute([&](vulkan::CommandBuffer& commands) {
    if (resource.buffer) {
      FullBarrier(commands);
      commands.CopyBuffer(resource.buffer->handle(), offset, host->handle(), 0, size);
      return;
    }
    const VkImage image = resource.image->handle();
    const VkImageMemoryBarrier before = Transition(image, VK_IMAGE_LAYOUT_GENERAL, kSource);
    FullBarrier(commands, {&before, 1});
    const VkBufferImageCopy copy = WholeImage(*resource.image);
    scratch.fn().vkCmdCopyImageToBuffer(commands.handle(), image, kSource, host->handle(),
                                        /*regionCount=*/1, &copy);
    const VkImageMemoryBarrier after = Transition(image, kSource, VK_IMAGE_LAYOUT_GENERAL);
    FullBarrier(commands, {&after, 1});
  }));
  const uint64_t begin = resource.buffer ? 0 : offset;
  return std::span<const std::byte>(host->mapped() + begin, static_cast<size_t>(size));
}

}  // namespace spirloom::tools
