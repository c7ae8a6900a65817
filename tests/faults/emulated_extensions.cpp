#include "tests/faults/emulated_extensions.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/faults/intercepted.h"

namespace spirloom::faults {
namespace {

constexpr const char* kEmulated[] = {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME,
                                     VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME,
                                     VK_EXT_DEVICE_FAULT_EXTENSION_NAME};

bool IsEmulated(const char* extension) {
  return std::ranges::any_of(kEmulated, [&](std::string_view name) { return name == extension; });
}

// The device's extensions without the emulated ones, which some drivers have.
std::vector<VkExtensionProperties> OtherExtensions(VkPhysicalDevice device) {
  const auto enumerate =
      Real<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
  uint32_t count = 0;
  enumerate(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> found(count);
  enumerate(device, nullptr, &count, found.data());
  std::erase_if(found, [](const auto& extension) { return IsEmulated(extension.extensionName); });
  return found;
}

}  // namespace

VKAPI_ATTR VkResult VKAPI_CALL EnumerateExtensions(VkPhysicalDevice device, const char* layer,
                                                   uint32_t* count,
                                                   VkExtensionProperties* extensions) {
  using Call = Failing<kNone, kName_vkEnumerateDeviceExtensionProperties,
                       PFN_vkEnumerateDeviceExtensionProperties>;
  uint32_t real_count = 0;
  const VkResult result = Call::Call(device, layer, &real_count, nullptr);
  if (result != VK_SUCCESS) return result;
  std::vector<VkExtensionProperties> found = OtherExtensions(device);
  for (const char* name : kEmulated) {
    if (state.budget > 0) std::strcpy(found.emplace_back().extensionName, name);
  }
  const auto size = static_cast<uint32_t>(found.size());
  if (extensions == nullptr) {
    *count = size;
    return VK_SUCCESS;
  }
  *count = std::min(*count, size);
  std::copy_n(found.begin(), *count, extensions);
  return *count < size ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL MemoryProperties2(VkPhysicalDevice device,
                                             VkPhysicalDeviceMemoryProperties2* properties) {
  auto* budget = static_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(properties->pNext);
  std::ranges::fill(budget->heapBudget, state.budget);
  std::ranges::fill(budget->heapUsage, state.usage);
  properties->pNext = nullptr;
  Real<PFN_vkGetPhysicalDeviceMemoryProperties2>("vkGetPhysicalDeviceMemoryProperties2")(
      device, properties);
}

// Removes the emulated extensions from the request.
VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice physical,
                                            const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* allocator,
                                            VkDevice* device) {
  VkDeviceCreateInfo request = *info;
  if (const auto* first = static_cast<const VkBaseInStructure*>(info->pNext);
      state.budget > 0 && first != nullptr &&
      first->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FAULT_FEATURES_EXT) {
    request.pNext = first->pNext;
  }
  VkDeviceQueueCreateInfo queue = *info->pQueueCreateInfos;
  std::vector<const char*> extensions;
  for (uint32_t i = 0; i < info->enabledExtensionCount; ++i) {
    const char* name = info->ppEnabledExtensionNames[i];
    if (state.budget == 0 || !IsEmulated(name)) extensions.push_back(name);
  }
  const auto* priority = static_cast<const VkDeviceQueueGlobalPriorityCreateInfoKHR*>(queue.pNext);
  state.priority = priority == nullptr ? 0 : static_cast<uint32_t>(priority->globalPriority);
  queue.pNext = nullptr;
  request.pQueueCreateInfos = &queue;
  request.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  request.ppEnabledExtensionNames = extensions.data();
  using Call = Failing<k_vkCreateDevice, kName_vkCreateDevice, PFN_vkCreateDevice>;
  return Call::Call(physical, &request, allocator, device);
}

// The emulated VK_EXT_device_fault.
VKAPI_ATTR VkResult VKAPI_CALL GetDeviceFaultInfo(VkDevice /*device*/,
                                                  VkDeviceFaultCountsEXT* counts,
                                                  VkDeviceFaultInfoEXT* info) {
  counts->addressInfoCount = 2;
  counts->vendorInfoCount = 1;
  std::strcpy(info->description, "Page fault");
  info->pAddressInfos[0] = {VK_DEVICE_FAULT_ADDRESS_TYPE_WRITE_INVALID_EXT, 0x7f0012345678, 0x1000};
  info->pAddressInfos[1] = {VK_DEVICE_FAULT_ADDRESS_TYPE_INSTRUCTION_POINTER_FAULT_EXT, 0xabc0, 1};
  info->pVendorInfos[0] = {"Shader engine", 7, 9};
  return VK_INCOMPLETE;  // there are more
}

VKAPI_ATTR VkResult VKAPI_CALL ToolProperties(VkPhysicalDevice device, uint32_t* count,
                                              VkPhysicalDeviceToolProperties* tools) {
  if (state.tool == 0) {
    return Real<PFN_vkGetPhysicalDeviceToolProperties>("vkGetPhysicalDeviceToolProperties")(
        device, count, tools);
  }
  *count = 1;
  tools[0].purposes = state.tool;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL BeginLabel(VkCommandBuffer commands, const VkDebugUtilsLabelEXT* label) {
  ++state.labels;
  Real<PFN_vkCmdBeginDebugUtilsLabelEXT>("vkCmdBeginDebugUtilsLabelEXT")(commands, label);
}

}  // namespace spirloom::faults
