#include "runtime/vulkan/texture_limits.h"

#include <algorithm>
#include <limits>

namespace spirloom::vulkan {

VkFormat TexelFormat(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return VK_FORMAT_R32G32B32A32_SFLOAT;
    case DType::kF16:
      return VK_FORMAT_R16G16B16A16_SFLOAT;
    case DType::kI32:
      return VK_FORMAT_R32G32B32A32_SINT;
    case DType::kI8:
      return VK_FORMAT_R8G8B8A8_SINT;
    case DType::kU8:
    case DType::kB8:
      return VK_FORMAT_R8G8B8A8_UINT;
  }
  return VK_FORMAT_UNDEFINED;
}

TextureLimits QueryTextureLimits(VkPhysicalDevice device) {
  TextureLimits limits{std::numeric_limits<uint32_t>::max(), std::numeric_limits<uint64_t>::max()};
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kI8, DType::kU8, DType::kB8}) {
    VkImageFormatProperties format{};
    const VkResult result =
        vkGetPhysicalDeviceImageFormatProperties(device, TexelFormat(dtype), VK_IMAGE_TYPE_3D,
                                                 kImageTiling, kImageUsage, /*flags=*/0, &format);
    if (result != VK_SUCCESS) return {};
    const VkExtent3D& extent = format.maxExtent;
    limits.extent = std::min({limits.extent, extent.width, extent.height, extent.depth});
    limits.bytes = std::min(limits.bytes, format.maxResourceSize);
  }
  return limits;
}

}  // namespace spirloom::vulkan
