// What an image for a texture3d tensor is, and how large it can be.
#ifndef SPIRLOOM_RUNTIME_VULKAN_TEXTURE_LIMITS_H_
#define SPIRLOOM_RUNTIME_VULKAN_TEXTURE_LIMITS_H_

#include <cstdint>

#include "runtime/vulkan/vk.h"
#include "spirloom/types.h"

namespace spirloom::vulkan {

// How every image is made.
inline constexpr VkImageTiling kImageTiling = VK_IMAGE_TILING_OPTIMAL;
inline constexpr VkImageUsageFlags kImageUsage =
    VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
    VK_IMAGE_USAGE_TRANSFER_DST_BIT;

// The format of texture3d texels: four elements of `dtype`; b8 is stored as u8.
VkFormat TexelFormat(DType dtype);

// What holds for the images of every dtype.
struct TextureLimits {
  uint32_t extent = 0;  // texels, in each dimension; 0: the device has no such images
  uint64_t bytes = 0;   // of one image
};

TextureLimits QueryTextureLimits(VkPhysicalDevice device);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_TEXTURE_LIMITS_H_
