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

VkImageType ImageTypeOf(Storage storage) {
  return storage == Storage::kTexture2D ? VK_IMAGE_TYPE_2D : VK_IMAGE_TYPE_3D;
}

VkImageViewType ImageViewTypeOf(Storage storage) {
  return storage == Storage::kTexture2D ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_3D;
}

namespace {

// The device's limits for all formats.
TextureLimits LimitsOf(const VkPhysicalDeviceLimits& limits, Storage storage) {
  constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
  if (storage == Storage::kTexture2D) {
    return {limits.maxImageDimension2D, limits.maxImageDimension2D, limits.maxImageArrayLayers,
            kUnlimited};
  }
  return {limits.maxImageDimension3D, limits.maxImageDimension3D, limits.maxImageDimension3D,
          kUnlimited};
}

}  // namespace

Result<bool> IsSupported(VkResult format_query) {
  if (format_query == VK_ERROR_FORMAT_NOT_SUPPORTED) return false;
  SPIRLOOM_TRY(ToStatus(format_query, "vkGetPhysicalDeviceImageFormatProperties"));
  return true;
}

Result<TextureLimits> QueryTextureLimits(const InstanceFunctions& fn, VkPhysicalDevice device,
                                         const VkPhysicalDeviceLimits& device_limits,
                                         Storage storage) {
  TextureLimits limits = LimitsOf(device_limits, storage);
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kI8, DType::kU8, DType::kB8}) {
    VkImageFormatProperties format{};
    const VkResult result = fn.vkGetPhysicalDeviceImageFormatProperties(
        device, TexelFormat(dtype), ImageTypeOf(storage), kImageTiling, kImageUsage, /*flags=*/0,
        &format);
    SPIRLOOM_TRY_ASSIGN(const bool supported, IsSupported(result));
    if (!supported) return TextureLimits();
    const VkExtent3D& extent = format.maxExtent;
    const uint64_t depth = storage == Storage::kTexture2D ? format.maxArrayLayers : extent.depth;
    limits.width = std::min<uint64_t>(limits.width, extent.width);
    limits.height = std::min<uint64_t>(limits.height, extent.height);
    limits.depth = std::min(limits.depth, depth);
    limits.bytes = std::min(limits.bytes, format.maxResourceSize);
  }
  return limits;
}

}  // namespace spirloom::vulkan
