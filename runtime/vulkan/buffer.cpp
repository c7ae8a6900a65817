#include "runtime/vulkan/buffer.h"

#include <cassert>
#include <string>

#include "runtime/base/error.h"
#include "runtime/vulkan/software_device.h"

namespace spirloom::vulkan {
namespace {

VkFormat TexelFormat(pack::BindingType type) {
  if (type == pack::BindingType::kTexelsF32) return VK_FORMAT_R32_SFLOAT;
  if (type == pack::BindingType::kTexelsF32Vec4) return VK_FORMAT_R32G32B32A32_SFLOAT;
  return type == pack::BindingType::kTexelsI32 ? VK_FORMAT_R32_SINT : VK_FORMAT_R32G32B32A32_SINT;
}

}  // namespace

Result<Buffer> Buffer::CreateUnbound(const Device& device, VkDeviceSize size, VkDeviceSize margin) {
  if (size == 0) return Error(StatusCode::kInvalidArgument, "Buffer size is 0; expected >= 1.");
  const VkDeviceSize limit = device.physical().max_buffer_size;
  if (size > limit) {
    return Error(StatusCode::kOutOfMemory,
                 "Buffer size ({} bytes) exceeds the device's limit ({} bytes).", size, limit);
  }
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = BufferSizeFor(device, size + 2 * margin);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  VkBuffer handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkCreateBuffer(device.handle(), &info, device.allocator(), &handle),
               "vkCreateBuffer"));
  Buffer buffer;
  buffer.handle_ = {device, handle};
  buffer.size_ = size;
  buffer.margin_ = margin;
  buffer.vulkan_size_ = info.size;
  device.fn().vkGetBufferMemoryRequirements(device.handle(), handle, &buffer.requirements_);
  return buffer;
}

Result<Buffer> Buffer::Create(const Device& device, VkDeviceSize size, MemoryUse use) {
  SPIRLOOM_TRY_ASSIGN(Buffer buffer, CreateUnbound(device, size));
  SPIRLOOM_TRY_ASSIGN(DeviceMemory memory,
                      DeviceMemory::Create(device, buffer.requirements_.size,
                                           buffer.requirements_.memoryTypeBits, use));
  SPIRLOOM_TRY(buffer.Bind(memory, /*offset=*/0));
  buffer.memory_ = std::move(memory);
  return buffer;
}

Status Buffer::Bind(const DeviceMemory& memory, VkDeviceSize offset) {
  assert(mapped_ == nullptr && offset % requirements_.alignment == 0);
  assert(offset <= memory.size() && requirements_.size <= memory.size() - offset);
  const Device& device = handle_.device();
  SPIRLOOM_TRY(ToStatus(
      device.fn().vkBindBufferMemory(device.handle(), handle_.get(), memory.handle(), offset),
      "vkBindBufferMemory"));
  if (memory.mapped() != nullptr) mapped_ = memory.mapped() + offset + margin_;
  return {};
}

Result<BufferView> BufferView::Create(const Buffer& buffer, VkDeviceSize offset, VkDeviceSize size,
                                      pack::BindingType type) {
  const Device& device = buffer.device();
  VkBufferViewCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
  info.buffer = buffer.handle();
  info.format = TexelFormat(type);
  info.offset = buffer.offset() + offset;
  // Bytes after a part of a buffer may belong to another tensor, so only whole buffers are padded.
  const bool whole = offset == 0 && size == buffer.size();
  info.range = whole ? TexelViewSize(size, buffer.vulkan_size_ - info.offset) : size;
  VkBufferView handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkCreateBufferView(device.handle(), &info, device.allocator(), &handle),
               "vkCreateBufferView"));
  BufferView view;
  view.handle_ = {device, handle};
  return view;
}

}  // namespace spirloom::vulkan
