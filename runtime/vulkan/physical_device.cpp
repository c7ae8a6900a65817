#include "runtime/vulkan/physical_device.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/pack/capability.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/instance.h"

namespace spirloom::vulkan {
namespace {

std::string VersionText(uint32_t version) {
  return Concat({VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version), ".",
                 VK_API_VERSION_PATCH(version)});
}

const char* TypeName(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    default:
      return "other";
  }
}

constexpr int kRanks = 4;

// The place of a device's type in the order of preference.
int Rank(VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(device, &properties);
  switch (properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 3;
    default:
      return 2;
  }
}

std::vector<std::string> ListExtensions(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, /*pLayerName=*/nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> properties(count);
  vkEnumerateDeviceExtensionProperties(device, /*pLayerName=*/nullptr, &count, properties.data());
  std::vector<std::string> names;
  names.reserve(count);
  for (uint32_t i = 0; i < count; ++i) names.emplace_back(properties[i].extensionName);
  return names;
}

// Chooses a family with compute, without graphics if there is one: such a queue is not shared with
// a desktop.
void ChooseQueueFamily(PhysicalDevice& device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    const VkQueueFlags flags = families[i].queueFlags;
    if (families[i].queueCount == 0 || (flags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    const bool dedicated = (flags & VK_QUEUE_GRAPHICS_BIT) == 0;
    if (device.queue_family.has_value() && !dedicated) continue;
    device.queue_family = i;
    device.timestamp_valid_bits = families[i].timestampValidBits;
    if (dedicated) break;
  }
}

uint64_t SubgroupCapabilities(const VkPhysicalDeviceSubgroupProperties& subgroup) {
  using pack::Capability;
  if ((subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0) return 0;
  uint64_t bits = 0;
  const auto add = [&](VkSubgroupFeatureFlagBits flag, Capability capability) {
    if ((subgroup.supportedOperations & flag) != 0) bits |= pack::CapabilityBit(capability);
  };
  add(VK_SUBGROUP_FEATURE_BASIC_BIT, Capability::kSubgroupBasic);
  add(VK_SUBGROUP_FEATURE_VOTE_BIT, Capability::kSubgroupVote);
  add(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, Capability::kSubgroupArithmetic);
  add(VK_SUBGROUP_FEATURE_BALLOT_BIT, Capability::kSubgroupBallot);
  // Kernels shuffle within 8 lanes.
  if (subgroup.subgroupSize >= 8)
    add(VK_SUBGROUP_FEATURE_SHUFFLE_BIT, Capability::kSubgroupShuffle);
  return bits;
}

// Devices that know no such limit have none.
uint64_t MaxBufferSize(const PhysicalDevice& device) {
  if (device.properties.apiVersion < VK_API_VERSION_1_3 &&
      !device.HasExtension(VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) {
    return std::numeric_limits<uint64_t>::max();
  }
  VkPhysicalDeviceMaintenance4Properties maintenance{};
  maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &maintenance;
  vkGetPhysicalDeviceProperties2(device.handle, &properties);
  return maintenance.maxBufferSize;
}

// Asks what only devices of version 1.1 and newer can be asked.
void QueryProperties2(PhysicalDevice& device) {
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  VkPhysicalDeviceMaintenance3Properties maintenance{};
  maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  VkPhysicalDeviceSubgroupProperties subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  subgroup.pNext = &maintenance;
  const bool has_driver = device.properties.apiVersion >= VK_API_VERSION_1_2 ||
                          device.HasExtension(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
  if (has_driver) maintenance.pNext = &driver;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &subgroup;
  vkGetPhysicalDeviceProperties2(device.handle, &properties);

  device.max_memory_allocation_size = maintenance.maxMemoryAllocationSize;
  device.max_buffer_size = std::min(MaxBufferSize(device), device.max_memory_allocation_size);
  device.subgroup_size = subgroup.subgroupSize;
  device.capabilities |= SubgroupCapabilities(subgroup);
  if (has_driver) device.info.driver = Concat({driver.driverName, " ", driver.driverInfo});
}

void FillInfo(PhysicalDevice& device) {
  DeviceInfo& info = device.info;
  info.name = device.properties.deviceName;
  info.type = TypeName(device.properties.deviceType);
  info.api_version = VersionText(device.properties.apiVersion);
  if (info.driver.empty()) info.driver = VersionText(device.properties.driverVersion);
  info.usable = device.properties.apiVersion >= VK_API_VERSION_1_1 && device.queue_family;
  info.features = pack::CapabilityNames(device.capabilities);
  info.subgroup_size = device.subgroup_size;
  info.max_storage_buffer_range = device.properties.limits.maxStorageBufferRange;
  info.max_image_dimension_3d = device.properties.limits.maxImageDimension3D;
  for (uint32_t i = 0; i < device.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = device.memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) {
      info.device_memory = std::max(info.device_memory, heap.size);
    }
  }
}

Result<PhysicalDevice> Describe(VkPhysicalDevice handle) {
  PhysicalDevice device;
  device.handle = handle;
  vkGetPhysicalDeviceProperties(handle, &device.properties);
  vkGetPhysicalDeviceMemoryProperties(handle, &device.memory);
  ChooseQueueFamily(device);
  if (device.properties.apiVersion >= VK_API_VERSION_1_1) {
    device.extensions = ListExtensions(handle);
    QueryProperties2(device);
    const VkPhysicalDeviceLimits& limits = device.properties.limits;
    SPIRLOOM_TRY_ASSIGN(device.texture3d, QueryTextureLimits(handle, limits, Storage::kTexture3D));
    SPIRLOOM_TRY_ASSIGN(device.texture2d, QueryTextureLimits(handle, limits, Storage::kTexture2D));
    FeatureChain features(device.properties.apiVersion, device.extensions, pack::kAllCapabilities);
    features.Query(handle);
    device.capabilities |= features.Capabilities();
  }
  FillInfo(device);
  return device;
}

}  // namespace

bool PhysicalDevice::HasExtension(const std::string& name) const {
  return std::ranges::find(extensions, name) != extensions.end();
}

bool PhysicalDevice::unified_memory() const {
  return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
         properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

uint32_t PhysicalDevice::vulkan_minor() const {
  return VK_API_VERSION_MINOR(std::min(properties.apiVersion, kApiVersion));
}

Result<std::vector<PhysicalDevice>> ListPhysicalDevices(const Instance& instance) {
  uint32_t count = 0;
  VkResult result = vkEnumeratePhysicalDevices(instance.handle(), &count, nullptr);
  std::vector<VkPhysicalDevice> handles(count);
  if (result == VK_SUCCESS) {
    result = vkEnumeratePhysicalDevices(instance.handle(), &count, handles.data());
  }
  // Some loaders report a machine without devices as a failure.
  if (result == VK_ERROR_INITIALIZATION_FAILED) return std::vector<PhysicalDevice>();
  if (result != VK_INCOMPLETE) SPIRLOOM_TRY(ToStatus(result, "vkEnumeratePhysicalDevices"));
  handles.resize(count);
  std::vector<PhysicalDevice> devices;
  for (int rank = 0; rank < kRanks; ++rank) {
    for (VkPhysicalDevice handle : handles) {
      if (Rank(handle) != rank) continue;
      SPIRLOOM_TRY_ASSIGN(PhysicalDevice device, Describe(handle));
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

}  // namespace spirloom::vulkan
