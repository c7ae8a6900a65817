// Vulkan's types, without prototypes. Everything here includes this, never <vulkan/...>.
#ifndef SPIRLOOM_RUNTIME_VULKAN_VK_H_
#define SPIRLOOM_RUNTIME_VULKAN_VK_H_

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include <string>
#include <string_view>

#include "spirloom/status.h"

namespace spirloom::vulkan {

// Returns e.g. "VK_ERROR_DEVICE_LOST"; "VkResult -1000001004" for a code without a name here.
std::string ResultName(VkResult result);

// OK for VK_SUCCESS, otherwise e.g. "vkCreateFence returns VK_ERROR_DEVICE_LOST." with the matching
// code.
Status ToStatus(VkResult result, std::string_view function);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_VK_H_
