#include "runtime/vulkan/texture_limits.h"

#include <algorithm>
#include <limits>

#include "runtime/base/data_types.h"

namespace spirloom::vulkan {

VkFormat TexelFormat(DType dtype) {
  switch (dtype) {
#define SPIRLOOM_DTYPE(id, name, long_name, kind, exponent, mantissa, c_type, min, max, numpy, \
                       texel, ...)                                                             \
  case DType::k##id:                                                                           \
    return VK_FORMAT_##texel;
#include "spec_model/data_types.inc"
#undef SPIRLOOM_DTYPE
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
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    VkImageFormatProperties format{};
    const VkResult result = fn.vkGetPhysicalDeviceImageFormatProperties(
        device, TexelFormat(static_cast<DType>(i)), ImageTypeOf(storage), kImageTiling, kImageUsage,
        /*flags=*/0, &format);
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
