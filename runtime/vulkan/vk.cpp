#include "runtime/vulkan/vk.h"

#include <cstdint>

#include "runtime/base/error.h"

namespace spirloom::vulkan {
namespace {

StatusCode CodeOf(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_TOO_MANY_OBJECTS:  // vkAllocateMemory: maxMemoryAllocationCount exceeded
      return StatusCode::kOutOfMemory;
    case VK_ERROR_DEVICE_LOST:
      return StatusCode::kDeviceLost;
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return StatusCode::kUnavailable;
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_FORMAT_NOT_SUPPORTED:
      return StatusCode::kUnsupported;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

std::string ResultName(VkResult result) {
#define SPIRLOOM_NAME(code) \
  case code:                \
    return #code
  switch (result) {
    SPIRLOOM_NAME(VK_SUCCESS);
    SPIRLOOM_NAME(VK_NOT_READY);
    SPIRLOOM_NAME(VK_TIMEOUT);
    SPIRLOOM_NAME(VK_INCOMPLETE);
    SPIRLOOM_NAME(VK_ERROR_OUT_OF_HOST_MEMORY);
    SPIRLOOM_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY);
    SPIRLOOM_NAME(VK_ERROR_INITIALIZATION_FAILED);
    SPIRLOOM_NAME(VK_ERROR_DEVICE_LOST);
    SPIRLOOM_NAME(VK_ERROR_MEMORY_MAP_FAILED);
    SPIRLOOM_NAME(VK_ERROR_LAYER_NOT_PRESENT);
    SPIRLOOM_NAME(VK_ERROR_EXTENSION_NOT_PRESENT);
    SPIRLOOM_NAME(VK_ERROR_FEATURE_NOT_PRESENT);
    SPIRLOOM_NAME(VK_ERROR_INCOMPATIBLE_DRIVER);
    SPIRLOOM_NAME(VK_ERROR_TOO_MANY_OBJECTS);
    SPIRLOOM_NAME(VK_ERROR_FORMAT_NOT_SUPPORTED);
    SPIRLOOM_NAME(VK_ERROR_FRAGMENTED_POOL);
    SPIRLOOM_NAME(VK_ERROR_OUT_OF_POOL_MEMORY);
    SPIRLOOM_NAME(VK_ERROR_FRAGMENTATION);
    SPIRLOOM_NAME(VK_ERROR_INVALID_SHADER_NV);
    SPIRLOOM_NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE);
    SPIRLOOM_NAME(VK_ERROR_UNKNOWN);
    default:
      return Concat("VkResult ", static_cast<int32_t>(result));
  }
#undef SPIRLOOM_NAME
}

Status ToStatus(VkResult result, std::string_view function) {
  if (result == VK_SUCCESS) return {};
  return Error(CodeOf(result), "{} returns {}.", function, ResultName(result));
}

}  // namespace spirloom::vulkan
