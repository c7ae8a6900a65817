// What the image of a texture tensor is, and how large it can be.
#ifndef SPIRLOOM_RUNTIME_VULKAN_TEXTURE_LIMITS_H_
#define SPIRLOOM_RUNTIME_VULKAN_TEXTURE_LIMITS_H_

#include <cstdint>

#include "runtime/vulkan/functions.h"
#include "spirloom/types.h"

namespace spirloom::vulkan {

// How every image is made.
inline constexpr VkImageTiling kImageTiling = VK_IMAGE_TILING_OPTIMAL;
inline constexpr VkImageUsageFlags kImageUsage =
    VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
    VK_IMAGE_USAGE_TRANSFER_DST_BIT;

// The format of texels: four elements of `dtype`; b8 is stored as u8.
VkFormat TexelFormat(DType dtype);

// What holds for the images of every dtype in one storage. All 0: the device has no such images.
struct TextureLimits {
  uint64_t width = 0;  // texels
  uint64_t height = 0;
  uint64_t depth = 0;  // slices, or layers of a 2-D image
  uint64_t bytes = 0;  // of one image
};

// The least of what `limits`, the device's, and its formats allow. `storage` is one of the
// textures. Fails when the driver does other than to say that it lacks a format.
Result<TextureLimits> QueryTextureLimits(const InstanceFunctions& fn, VkPhysicalDevice device,
                                         const VkPhysicalDeviceLimits& limits, Storage storage);

VkImageType ImageTypeOf(Storage storage);
VkImageViewType ImageViewTypeOf(Storage storage);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_TEXTURE_LIMITS_H_
