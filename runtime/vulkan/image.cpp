#include "runtime/vulkan/image.h"

#include <algorithm>
#include <string>

namespace spirloom::vulkan {
namespace {

std::string ExtentText(VkExtent3D extent) {
  return std::to_string(extent.width) + " x " + std::to_string(extent.height) + " x " +
         std::to_string(extent.depth);
}

}  // namespace

Result<Image> Image::CreateUnbound(const Device& device, VkExtent3D extent, VkFormat format) {
  const uint32_t least = std::min({extent.width, extent.height, extent.depth});
  const uint32_t greatest = std::max({extent.width, extent.height, extent.depth});
  if (least == 0 || greatest > device.limits().maxImageDimension3D) {
    return Status(StatusCode::kUnsupported,
                  "A 3-D image of " + ExtentText(extent) + " texels is outside 1 .. " +
                      std::to_string(device.limits().maxImageDimension3D) +
                      " (the device's maxImageDimension3D) in a dimension.");
  }
  VkImageCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
  info.imageType = VK_IMAGE_TYPE_3D;
  info.format = format;
  info.extent = extent;
  info.mipLevels = 1;
  info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.tiling = kImageTiling;
  info.usage = kImageUsage;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  VkImage handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkCreateImage(device.handle(), &info, /*pAllocator=*/nullptr, &handle),
               "vkCreateImage"));
  Image image;
  image.handle_ = {device, handle};
  image.extent_ = extent;
  image.format_ = format;
  device.fn().vkGetImageMemoryRequirements(device.handle(), handle, &image.requirements_);
  return image;
}

Result<Image> Image::Create(const Device& device, VkExtent3D extent, VkFormat format) {
  SPIRLOOM_TRY_ASSIGN(Image image, CreateUnbound(device, extent, format));
  SPIRLOOM_TRY_ASSIGN(DeviceMemory memory,
                      DeviceMemory::Create(device, image.requirements_.size,
                                           image.requirements_.memoryTypeBits, MemoryUse::kDevice));
  SPIRLOOM_TRY(image.Bind(memory, /*offset=*/0));
  image.memory_ = std::move(memory);
  return image;
}

Status Image::Bind(const DeviceMemory& memory, VkDeviceSize offset) {
  const Device& device = handle_.device();
  SPIRLOOM_TRY(ToStatus(
      device.fn().vkBindImageMemory(device.handle(), handle_.get(), memory.handle(), offset),
      "vkBindImageMemory"));
  VkImageViewCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
  info.image = handle_.get();
  info.viewType = VK_IMAGE_VIEW_TYPE_3D;
  info.format = format_;
  info.subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                           .baseMipLevel = 0,
                           .levelCount = 1,
                           .baseArrayLayer = 0,
                           .layerCount = 1};
  VkImageView view = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkCreateImageView(device.handle(), &info, /*pAllocator=*/nullptr, &view),
               "vkCreateImageView"));
  view_ = {device, view};
  return {};
}

}  // namespace spirloom::vulkan
