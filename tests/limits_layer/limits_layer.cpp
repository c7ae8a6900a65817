// A Vulkan layer that lowers what a device reports, so that programs run as on a lesser device. The
// environment variable SPIRLOOM_TEST_LIMITS has entries separated by commas:
//   storage8, storage16    the feature is not supported
//   portability            a device that does not conform (MoltenVK): it has
//   VK_KHR_portability_subset,
//                          and creating an instance or device fails unless the program enables
//                          VK_KHR_portability_enumeration and the subset
//   LIMIT=VALUE            a member of VkPhysicalDeviceLimits that kLimits lists; lower values of
//                          the device are kept
// "minimum" stands for the features and limits, with the values that every implementation of
// Vulkan 1.1 must support, except storage buffers per stage: many kernels bind more than the
// minimum of 4. An unknown entry ends the program.
#include <vulkan/vk_layer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Limit {
  std::string_view name;
  size_t offset;
  size_t count;
  uint32_t minimum;
};

#define LIMIT(name, count, minimum) \
  { #name, offsetof(VkPhysicalDeviceLimits, name), count, minimum }
constexpr Limit kLimits[] = {
    LIMIT(maxStorageBufferRange, 1, 134217728),
    LIMIT(maxPushConstantsSize, 1, 128),
    LIMIT(maxComputeSharedMemorySize, 1, 16384),
    LIMIT(maxComputeWorkGroupCount, 3, 65535),
    LIMIT(maxComputeWorkGroupInvocations, 1, 128),
    LIMIT(maxTexelBufferElements, 1, 65536),
    LIMIT(maxImageDimension2D, 1, 4096),
    LIMIT(maxImageDimension3D, 1, 256),
    LIMIT(maxImageArrayLayers, 1, 256),
    // Devices of today support at least 8.
    LIMIT(maxPerStageDescriptorStorageBuffers, 1, 8),
    LIMIT(maxMemoryAllocationCount, 1, 4096),
};
#undef LIMIT

// What SPIRLOOM_TEST_LIMITS asks for.
struct Settings {
  bool storage8 = true;
  bool storage16 = true;
  bool portability = false;
  std::map<std::string_view, uint32_t> limits;

  Settings() {
    const char* text = std::getenv("SPIRLOOM_TEST_LIMITS");
    for (std::string_view rest = text == nullptr ? "" : text; !rest.empty();) {
      const size_t end = std::min(rest.find(','), rest.size());
      Add(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  void Add(std::string_view entry) {
    const size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = entry.substr(0, equals);
    const bool all = entry == "minimum";
    bool known = all;
    if (all || entry == "storage8") storage8 = false, known = true;
    if (all || entry == "storage16") storage16 = false, known = true;
    if (entry == "portability") portability = true, known = true;
    for (const Limit& limit : kLimits) {
      if (!all && (limit.name != name || equals == entry.size())) continue;
      known = true;
      limits[limit.name] = all ? limit.minimum
                               : static_cast<uint32_t>(std::strtoul(
                                     std::string(entry.substr(equals + 1)).c_str(), nullptr, 10));
    }
    if (known) return;
    std::fprintf(stderr, "SPIRLOOM_TEST_LIMITS: unknown entry '%s'\n", std::string(entry).c_str());
    std::abort();
  }
};

const Settings& TheSettings() {
  static const Settings settings;
  return settings;
}

// The next layer's functions, by the dispatch table of an instance or device. Those of instances
// are queried at creation: later, the loader returns the first layer's.
struct Next {
  PFN_vkGetInstanceProcAddr get_instance = nullptr;
  PFN_vkGetDeviceProcAddr get_device = nullptr;
  PFN_vkCreateDevice create_device = nullptr;
  PFN_vkGetPhysicalDeviceFeatures2 features = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
};
std::mutex mutex;
std::map<const void*, Next> nexts;

const void* KeyOf(const void* dispatchable) {
  return *static_cast<const void* const*>(dispatchable);
}

Next NextOf(const void* dispatchable) {
  const std::scoped_lock lock(mutex);
  return nexts[KeyOf(dispatchable)];
}

template <typename Function>
void Query(PFN_vkGetInstanceProcAddr get, VkInstance instance, const char* name, Function& out) {
  out = reinterpret_cast<Function>(get(instance, name));
}

// The loader's link for this layer in a create info.
template <typename Link>
Link* FindLink(const void* chain, VkStructureType type) {
  for (auto* link = static_cast<const Link*>(chain); link != nullptr;
       link = static_cast<const Link*>(link->pNext)) {
    if (link->sType == type && link->function == VK_LAYER_LINK_INFO) return const_cast<Link*>(link);
  }
  return nullptr;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo* info,
                                              const VkAllocationCallbacks* allocator,
                                              VkInstance* instance) {
  auto* link = FindLink<VkLayerInstanceCreateInfo>(info->pNext,
                                                   VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const bool listed = (info->flags & VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR) != 0;
  // The instance that keeps drivers loaded has no application.
  if (TheSettings().portability && info->pApplicationInfo != nullptr && !listed)
    return VK_ERROR_INCOMPATIBLE_DRIVER;
  const auto get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  const VkResult result = create(info, allocator, instance);
  if (result != VK_SUCCESS) return result;
  Next next;
  next.get_instance = get;
  Query(get, *instance, "vkCreateDevice", next.create_device);
  Query(get, *instance, "vkGetPhysicalDeviceFeatures2", next.features);
  Query(get, *instance, "vkGetPhysicalDeviceProperties", next.properties);
  Query(get, *instance, "vkGetPhysicalDeviceProperties2", next.properties2);
  Query(get, *instance, "vkEnumerateDeviceExtensionProperties", next.extensions);
  const std::scoped_lock lock(mutex);
  nexts[KeyOf(*instance)] = next;
  return result;
}

constexpr const char* kSubset = "VK_KHR_portability_subset";

bool IsSubset(const char* name) { return std::strcmp(name, kSubset) == 0; }

// The device's extensions, and the subset.
VKAPI_ATTR VkResult VKAPI_CALL ListExtensions(VkPhysicalDevice physical, const char* layer,
                                              uint32_t* count, VkExtensionProperties* properties) {
  const auto list = NextOf(physical).extensions;
  if (!TheSettings().portability || layer != nullptr)
    return list(physical, layer, count, properties);
  uint32_t listed = 0;
  if (const VkResult result = list(physical, layer, &listed, nullptr); result != VK_SUCCESS)
    return result;
  if (properties == nullptr) {
    *count = listed + 1;
    return VK_SUCCESS;
  }
  if (*count <= listed) return VK_INCOMPLETE;
  const VkResult result = list(physical, layer, &listed, properties);
  properties[listed] = {};
  std::strcpy(properties[listed].extensionName, kSubset);
  *count = listed + 1;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice physical,
                                            const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* allocator,
                                            VkDevice* device) {
  auto* link =
      FindLink<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const auto get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  VkDeviceCreateInfo next_info = *info;
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  if (TheSettings().portability) {
    if (std::erase_if(extensions, IsSubset) == 0) return VK_ERROR_EXTENSION_NOT_PRESENT;
    next_info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    next_info.ppEnabledExtensionNames = extensions.data();
  }
  const VkResult result = NextOf(physical).create_device(physical, &next_info, allocator, device);
  if (result != VK_SUCCESS) return result;
  const std::scoped_lock lock(mutex);
  nexts[KeyOf(*device)].get_device = get;
  return result;
}

VKAPI_ATTR void VKAPI_CALL GetFeatures(VkPhysicalDevice physical,
                                       VkPhysicalDeviceFeatures2* features) {
  NextOf(physical).features(physical, features);
  const Settings& settings = TheSettings();
  for (auto* next = static_cast<VkBaseOutStructure*>(features->pNext); next != nullptr;
       next = next->pNext) {
    const auto hide = [&](bool kept, auto type, auto... members) {
      auto* found = reinterpret_cast<decltype(type)*>(next);
      if (!kept) ((found->*members = VK_FALSE), ...);
    };
    switch (next->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
        hide(settings.storage16, VkPhysicalDeviceVulkan11Features{},
             &VkPhysicalDeviceVulkan11Features::storageBuffer16BitAccess,
             &VkPhysicalDeviceVulkan11Features::uniformAndStorageBuffer16BitAccess);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        hide(settings.storage16, VkPhysicalDevice16BitStorageFeatures{},
             &VkPhysicalDevice16BitStorageFeatures::storageBuffer16BitAccess,
             &VkPhysicalDevice16BitStorageFeatures::uniformAndStorageBuffer16BitAccess);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
        hide(settings.storage8, VkPhysicalDeviceVulkan12Features{},
             &VkPhysicalDeviceVulkan12Features::storageBuffer8BitAccess,
             &VkPhysicalDeviceVulkan12Features::uniformAndStorageBuffer8BitAccess);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
        hide(settings.storage8, VkPhysicalDevice8BitStorageFeatures{},
             &VkPhysicalDevice8BitStorageFeatures::storageBuffer8BitAccess,
             &VkPhysicalDevice8BitStorageFeatures::uniformAndStorageBuffer8BitAccess);
        break;
      default:
        break;
    }
  }
}

void LowerLimits(VkPhysicalDeviceLimits& limits) {
  for (const Limit& limit : kLimits) {
    const auto found = TheSettings().limits.find(limit.name);
    if (found == TheSettings().limits.end()) continue;
    auto* values =
        reinterpret_cast<uint32_t*>(reinterpret_cast<std::byte*>(&limits) + limit.offset);
    for (size_t i = 0; i < limit.count; ++i) values[i] = std::min(values[i], found->second);
  }
  for (uint32_t& size : limits.maxComputeWorkGroupSize)
    size = std::min(size, limits.maxComputeWorkGroupInvocations);
}

VKAPI_ATTR void VKAPI_CALL GetProperties(VkPhysicalDevice physical,
                                         VkPhysicalDeviceProperties* properties) {
  NextOf(physical).properties(physical, properties);
  LowerLimits(properties->limits);
}

VKAPI_ATTR void VKAPI_CALL GetProperties2(VkPhysicalDevice physical,
                                          VkPhysicalDeviceProperties2* properties) {
  NextOf(physical).properties2(physical, properties);
  LowerLimits(properties->properties.limits);
}

template <typename Function>
PFN_vkVoidFunction Cast(Function* function) {
  return reinterpret_cast<PFN_vkVoidFunction>(function);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice device, const char* name) {
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return Cast(&GetDeviceProcAddr);
  return NextOf(device).get_device(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance instance,
                                                             const char* name) {
  const std::string_view wanted = name;
  if (wanted == "vkGetInstanceProcAddr") return Cast(&GetInstanceProcAddr);
  if (wanted == "vkGetDeviceProcAddr") return Cast(&GetDeviceProcAddr);
  if (wanted == "vkCreateInstance") return Cast(&CreateInstance);
  if (wanted == "vkCreateDevice") return Cast(&CreateDevice);
  if (wanted == "vkGetPhysicalDeviceFeatures2" || wanted == "vkGetPhysicalDeviceFeatures2KHR")
    return Cast(&GetFeatures);
  if (wanted == "vkGetPhysicalDeviceProperties") return Cast(&GetProperties);
  if (wanted == "vkGetPhysicalDeviceProperties2") return Cast(&GetProperties2);
  if (wanted == "vkEnumerateDeviceExtensionProperties") return Cast(&ListExtensions);
  return instance == nullptr ? nullptr : NextOf(instance).get_instance(instance, name);
}

}  // namespace

// The loader's entry point.
extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* layer) {
  layer->loaderLayerInterfaceVersion = std::min(layer->loaderLayerInterfaceVersion, 2U);
  layer->pfnGetInstanceProcAddr = &GetInstanceProcAddr;
  layer->pfnGetDeviceProcAddr = &GetDeviceProcAddr;
  layer->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
