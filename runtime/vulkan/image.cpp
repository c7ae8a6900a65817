#include "runtime/vulkan/image.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "runtime/base/text.h"

namespace spirloom::vulkan {
namespace {

std::string ExtentText(uint64_t width, uint64_t height, uint64_t depth) {
  return Format("{} x {} x {}", width, height, depth);
}

Status CheckExtent(const Device& device, Storage storage, VkExtent3D extent) {
  const PhysicalDevice& physical = device.physical();
  const TextureLimits& limit =
      storage == Storage::kTexture2D ? physical.texture2d : physical.texture3d;
  const bool fits =
      extent.width <= limit.width && extent.height <= limit.height && extent.depth <= limit.depth;
  if (fits && std::min({extent.width, extent.height, extent.depth}) > 0) return {};
  return Status(StatusCode::kUnsupported,
                Format("A {} image of {} texels is outside 1 x 1 x 1 .. {} (the device's limit).",
                       Name(storage), ExtentText(extent.width, extent.height, extent.depth),
                       ExtentText(limit.width, limit.height, limit.depth)));
}

}  // namespace

Result<Image> Image::CreateUnbound(const Device& device, Storage storage, VkExtent3D extent,
                                   VkFormat format) {
  SPIRLOOM_TRY(CheckExtent(device, storage, extent));
  const bool layered = storage == Storage::kTexture2D;
  VkImageCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
  info.imageType = ImageTypeOf(storage);
  info.format = format;
  info.extent = {extent.width, extent.height, layered ? 1 : extent.depth};
  info.mipLevels = 1;
  info.arrayLayers = layered ? extent.depth : 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.tiling = kImageTiling;
  info.usage = kImageUsage;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  VkImage handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkCreateImage(device.handle(), &info, device.allocator(), &handle),
               "vkCreateImage"));
  Image image;
  image.handle_ = {device, handle};
  image.storage_ = storage;
  image.extent_ = extent;
  image.format_ = format;
  device.fn().vkGetImageMemoryRequirements(device.handle(), handle, &image.requirements_);
  return image;
}

Result<Image> Image::Create(const Device& device, Storage storage, VkExtent3D extent,
                            VkFormat format) {
  SPIRLOOM_TRY_ASSIGN(Image image, CreateUnbound(device, storage, extent, format));
  SPIRLOOM_TRY_ASSIGN(DeviceMemory memory,
                      DeviceMemory::Create(device, image.requirements_.size,
                                           image.requirements_.memoryTypeBits, MemoryUse::kDevice));
  SPIRLOOM_TRY(image.Bind(memory, /*offset=*/0));
  image.memory_ = std::move(memory);
  return image;
}

Status Image::Bind(const DeviceMemory& memory, VkDeviceSize offset) {
  assert(offset % requirements_.alignment == 0);
  assert(offset <= memory.size() && requirements_.size <= memory.size() - offset);
  const Device& device = handle_.device();
  SPIRLOOM_TRY(ToStatus(
      device.fn().vkBindImageMemory(device.handle(), handle_.get(), memory.handle(), offset),
      "vkBindImageMemory"));
  VkImageViewCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
  info.image = handle_.get();
  info.viewType = ImageViewTypeOf(storage_);
  info.format = format_;
  info.subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                           .baseMipLevel = 0,
                           .levelCount = 1,
                           .baseArrayLayer = 0,
                           .layerCount = VK_REMAINING_ARRAY_LAYERS};
  VkImageView view = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkCreateImageView(device.handle(), &info, device.allocator(), &view),
               "vkCreateImageView"));
  view_ = {device, view};
  return {};
}

}  // namespace spirloom::vulkan
