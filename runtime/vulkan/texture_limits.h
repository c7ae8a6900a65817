// Formats, types and size limits of the images of texture tensors.
#ifndef SPIRLOOM_RUNTIME_VULKAN_TEXTURE_LIMITS_H_
#define SPIRLOOM_RUNTIME_VULKAN_TEXTURE_LIMITS_H_

#include <cstdint>

#include "runtime/vulkan/functions.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::vulkan {

// Tiling and usage of all images.
inline constexpr VkImageTiling kImageTiling = VK_IMAGE_TILING_OPTIMAL;
inline constexpr VkImageUsageFlags kImageUsage =
    VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
    VK_IMAGE_USAGE_TRANSFER_DST_BIT;

// The format of a texel: four elements of `dtype`; b8 is stored as u8.
VkFormat TexelFormat(DType dtype);

// Limits on the images of all dtypes in one storage. All 0: the device does not support them.
struct TextureLimits {
  uint64_t width = 0;  // texels
  uint64_t height = 0;
  uint64_t depth = 0;  // slices, or layers of a 2-D image
  uint64_t bytes = 0;  // of one image
};

// The minimum of the device's `limits` and those of the formats. `storage` is a texture storage.
// Fails if the driver returns an error other than VK_ERROR_FORMAT_NOT_SUPPORTED.
Result<TextureLimits> QueryTextureLimits(const InstanceFunctions& fn, VkPhysicalDevice device,
                                         const VkPhysicalDeviceLimits& limits, Storage storage);

// Converts the result of vkGetPhysicalDeviceImageFormatProperties. Errors such as exhausted memory
// are errors, not missing support.
Result<bool> IsSupported(VkResult format_query);

VkImageType ImageTypeOf(Storage storage);
VkImageViewType ImageViewTypeOf(Storage storage);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_TEXTURE_LIMITS_H_
