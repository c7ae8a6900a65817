#include "runtime/vulkan/debug_tools.h"

#include <algorithm>
#include <array>

namespace spirloom::vulkan {
namespace {

// Maximum number of tools that are considered.
constexpr uint32_t kMaxTools = 8;

}  // namespace

bool HasDebugTool(const Instance& instance, const PhysicalDevice& physical) {
  PFN_vkGetPhysicalDeviceToolProperties get = nullptr;
  if (physical.api_version >= VK_API_VERSION_1_3 && instance.api_version() >= VK_API_VERSION_1_3) {
    get = instance.Get<PFN_vkGetPhysicalDeviceToolProperties>("vkGetPhysicalDeviceToolProperties");
  } else if (physical.HasExtension(VK_EXT_TOOLING_INFO_EXTENSION_NAME)) {
    get =
        instance.Get<PFN_vkGetPhysicalDeviceToolProperties>("vkGetPhysicalDeviceToolPropertiesEXT");
  }
  if (get == nullptr) return false;
  std::array<VkPhysicalDeviceToolProperties, kMaxTools> tools{};
  for (auto& tool : tools) tool.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TOOL_PROPERTIES;
  uint32_t count = kMaxTools;
  // VK_INCOMPLETE: the first kMaxTools.
  if (get(physical.handle, &count, tools.data()) < VK_SUCCESS) return false;
  return std::any_of(tools.begin(), tools.begin() + count, [](const auto& tool) {
    return (tool.purposes & VK_TOOL_PURPOSE_DEBUG_MARKERS_BIT_EXT) != 0;
  });
}

}  // namespace spirloom::vulkan
