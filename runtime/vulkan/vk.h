// Vulkan types without prototypes. The runtime includes this instead of <vulkan/...>.
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

// E.g. "VK_ERROR_DEVICE_LOST"; "VkResult -1000001004" for other values.
std::string ResultName(VkResult result);

// OK for VK_SUCCESS, otherwise an error such as "vkCreateFence returns VK_ERROR_DEVICE_LOST." with
// the matching code.
Status ToStatus(VkResult result, std::string_view function);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_VK_H_
