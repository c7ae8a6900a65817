#include "runtime/vulkan/physical_device.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/pack/capability.h"
#include "runtime/vulkan/cooperative_matrix.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/instance.h"
#include "runtime/vulkan/kernel_properties.h"

namespace spirloom::vulkan {
namespace {

std::string VersionText(uint32_t version) {
  return Format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                VK_API_VERSION_PATCH(version));
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

// Number of ranks of device types, in order of preference.
constexpr int kRanks = 4;

int Rank(const VkPhysicalDeviceProperties& properties) {
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

// Enumerates with a function that is called first for the count and then for the values; repeats if
// the count has increased.
template <typename T, typename Function>
Result<std::vector<T>> Enumerate(const char* name, const Function& function) {
  std::vector<T> values;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {
    uint32_t count = 0;
    SPIRLOOM_TRY(ToStatus(function(&count, nullptr), name));
    values = std::vector<T>(count);
    result = function(&count, values.data());
    if (count < values.size()) values.erase(values.begin() + count, values.end());
  }
  SPIRLOOM_TRY(ToStatus(result, name));
  return values;
}

Result<std::vector<std::string>> ListExtensions(const InstanceFunctions& fn,
                                                VkPhysicalDevice device) {
  SPIRLOOM_TRY_ASSIGN(
      const std::vector<VkExtensionProperties> properties,
      Enumerate<VkExtensionProperties>("vkEnumerateDeviceExtensionProperties",
                                       [&](uint32_t* count, VkExtensionProperties* out) {
                                         return fn.vkEnumerateDeviceExtensionProperties(
                                             device, /*pLayerName=*/nullptr, count, out);
                                       }));
  std::vector<std::string> names;
  names.reserve(properties.size());
  for (const VkExtensionProperties& extension : properties) {
    names.emplace_back(extension.extensionName);
  }
  return names;
}

// Selects a compute queue family, preferably without graphics: the desktop does not use such a
// queue.
void ChooseQueueFamily(const InstanceFunctions& fn, PhysicalDevice& device) {
  uint32_t count = 0;
  fn.vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties>& families = device.queue_families;
  families.resize(count);
  fn.vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
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
  // Kernels shuffle within groups of 8 invocations.
  if (subgroup.subgroupSize >= 8)
    add(VK_SUBGROUP_FEATURE_SHUFFLE_BIT, Capability::kSubgroupShuffle);
  return bits;
}

// Requests the rounding mode where the device offers it.
pack::F16Rounding RoundingOf(const VkPhysicalDeviceFloatControlsProperties& controls) {
  using pack::F16Rounding;
  if (controls.shaderRoundingModeRTEFloat16 != VK_TRUE) return F16Rounding::kArithmetic;
  if (controls.roundingModeIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE)
    return F16Rounding::kRequested;
  return controls.shaderRoundingModeRTEFloat32 == VK_TRUE ? F16Rounding::kRequestedWithFp32
                                                          : F16Rounding::kArithmetic;
}

std::string PciText(const VkPhysicalDevicePCIBusInfoPropertiesEXT& pci) {
  return Format("pci:{}:{}:{}.{}", Hex(pci.pciDomain, 4), Hex(pci.pciBus, 2), Hex(pci.pciDevice, 2),
                Hex(pci.pciFunction, 1));
}

// Queries properties that require Vulkan 1.1.
void QueryProperties2(const InstanceFunctions& fn, PhysicalDevice& device) {
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  const auto link = [&properties](auto& next, VkStructureType type) {
    next.sType = type;
    next.pNext = properties.pNext;
    properties.pNext = &next;
  };
  VkPhysicalDeviceMaintenance3Properties maintenance3{};
  link(maintenance3, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  VkPhysicalDeviceSubgroupProperties subgroup{};
  link(subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  VkPhysicalDeviceIDProperties id{};
  link(id, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  VkPhysicalDeviceDriverProperties driver{};
  if (device.api_version >= VK_API_VERSION_1_2 ||
      device.HasExtension(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) {
    link(driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  }
  VkPhysicalDeviceMaintenance4Properties maintenance4{};
  maintenance4.maxBufferSize = std::numeric_limits<uint64_t>::max();  // no limit on older devices
  if (device.api_version >= VK_API_VERSION_1_3 ||
      device.HasExtension(VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) {
    link(maintenance4, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
  }
  VkPhysicalDeviceSubgroupSizeControlProperties subgroup_sizes{};
  if (device.api_version >= VK_API_VERSION_1_3 ||
      device.HasExtension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
    link(subgroup_sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  }
  VkPhysicalDeviceFloatControlsProperties float_controls{};
  if (device.api_version >= VK_API_VERSION_1_2 ||
      device.HasExtension(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME)) {
    link(float_controls, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
  }
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci{};
  const bool has_pci = device.HasExtension(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
  if (has_pci) link(pci, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{};
  if (device.HasExtension(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
    link(host, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
  }
  fn.vkGetPhysicalDeviceProperties2(device.handle, &properties);

  device.max_memory_allocation_size = maintenance3.maxMemoryAllocationSize;
  device.max_buffer_size = std::min(maintenance4.maxBufferSize, device.max_memory_allocation_size);
  device.host_pointer_alignment = host.minImportedHostPointerAlignment;
  device.info.driver_id = static_cast<uint32_t>(driver.driverID);
  device.quirks =
      QuirksOf({device.properties.vendorID, device.info.driver_id,
                TypeName(device.properties.deviceType), device.properties.driverVersion});
  device.kernel_properties = KernelProperties(fn, device, subgroup, subgroup_sizes);
  device.f16_rounding = RoundingOf(float_controls);
  device.max_workgroup_subgroups = subgroup_sizes.maxComputeWorkgroupSubgroups;
  device.capabilities |= SubgroupCapabilities(subgroup);
  if (driver.sType != 0) device.info.driver = Concat(driver.driverName, " ", driver.driverInfo);
  device.info.uuid = Concat("uuid:", Hex(id.deviceUUID));
  if (id.deviceLUIDValid == VK_TRUE) device.info.luid = Concat("luid:", Hex(id.deviceLUID));
  if (has_pci) device.info.pci = PciText(pci);
}

void FillInfo(PhysicalDevice& device) {
  DeviceInfo& info = device.info;
  info.name = device.properties.deviceName;
  info.type = TypeName(device.properties.deviceType);
  info.api_version = VersionText(device.properties.apiVersion);
  if (info.driver.empty()) info.driver = VersionText(device.properties.driverVersion);
  info.vendor_id = device.properties.vendorID;
  info.device_id = device.properties.deviceID;
  info.api_version_number = device.properties.apiVersion;
  info.driver_version_number = device.properties.driverVersion;
  info.usable = device.api_version >= VK_API_VERSION_1_1 && device.queue_family;
  info.features = pack::CapabilityNames(device.capabilities);
  const pack::DeviceProperties& kernel = device.kernel_properties;
  info.subgroup_size = static_cast<uint32_t>(kernel.subgroup_size);
  if (kernel.max_loop_iterations != pack::DeviceProperties::kUnlimited)
    info.max_loop_iterations = static_cast<uint32_t>(kernel.max_loop_iterations);
  const auto values = pack::DevicePropertyValues(kernel);
  for (size_t i = 0; i < values.size(); ++i)
    info.properties.push_back({pack::kDevicePropertyNames[i], values[i]});
  info.max_storage_buffer_range = device.properties.limits.maxStorageBufferRange;
  info.max_image_dimension_3d = device.properties.limits.maxImageDimension3D;
  for (uint32_t i = 0; i < device.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = device.memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) {
      info.device_memory = std::max(info.device_memory, heap.size);
    }
  }
}

}  // namespace

Result<PhysicalDevice> DescribeDevice(const Instance& instance, VkPhysicalDevice handle) {
  const InstanceFunctions& fn = instance.fn();
  PhysicalDevice device;
  device.handle = handle;
  fn.vkGetPhysicalDeviceProperties(handle, &device.properties);
  fn.vkGetPhysicalDeviceMemoryProperties(handle, &device.memory);
  device.api_version = std::min(device.properties.apiVersion, instance.api_version());
  ChooseQueueFamily(fn, device);
  if (device.api_version >= VK_API_VERSION_1_1) {
    SPIRLOOM_TRY_ASSIGN(device.extensions, ListExtensions(fn, handle));
    QueryProperties2(fn, device);
    const VkPhysicalDeviceLimits& limits = device.properties.limits;
    SPIRLOOM_TRY_ASSIGN(device.texture3d,
                        QueryTextureLimits(fn, handle, limits, Storage::kTexture3D));
    SPIRLOOM_TRY_ASSIGN(device.texture2d,
                        QueryTextureLimits(fn, handle, limits, Storage::kTexture2D));
    FeatureChain features(device.api_version, device.extensions, pack::kAllCapabilities);
    features.Query(fn, handle);
    device.capabilities |=
        features.Capabilities() | pack::SharedMemoryCapabilities(limits.maxComputeSharedMemorySize);
    constexpr uint64_t kMatrices = pack::CapabilityBit(pack::Capability::kCooperativeMatrix) |
                                   pack::CapabilityBit(pack::Capability::kBFloat16Matrix);
    if ((device.capabilities & kMatrices) != 0)
      device.capabilities &= ~kMatrices | MatrixCapabilities(instance, handle);
  }
  FillInfo(device);
  return device;
}

bool PhysicalDevice::HasExtension(const std::string& name) const {
  return std::ranges::find(extensions, name) != extensions.end();
}

bool PhysicalDevice::unified_memory() const {
  return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
         properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

uint32_t PhysicalDevice::vulkan_minor() const { return VK_API_VERSION_MINOR(api_version); }

Result<std::vector<PhysicalDevice>> ListPhysicalDevices(const Instance& instance) {
  auto handles = Enumerate<VkPhysicalDevice>(
      "vkEnumeratePhysicalDevices", [&](uint32_t* count, VkPhysicalDevice* out) {
        const VkResult result =
            instance.fn().vkEnumeratePhysicalDevices(instance.handle(), count, out);
        if (result != VK_ERROR_INITIALIZATION_FAILED) return result;
        // Some loaders return this error if there are no devices.
        *count = 0;
        return VK_SUCCESS;
      });
  if (!handles.ok()) return std::move(handles).status();
  std::vector<PhysicalDevice> devices;
  Status failure;
  for (int rank = 0; rank < kRanks; ++rank) {
    for (VkPhysicalDevice handle : *handles) {
      VkPhysicalDeviceProperties properties;
      instance.fn().vkGetPhysicalDeviceProperties(handle, &properties);
      if (Rank(properties) != rank) continue;
      Result<PhysicalDevice> device = DescribeDevice(instance, handle);
      if (device.ok()) {
        devices.push_back(std::move(device).value());
        continue;
      }
      failure = std::move(device).status();
      instance.host().Log(LogLevel::kWarning, "A device is ignored because querying it failed: {}",
                          failure.message());
    }
  }
  if (devices.empty() && !failure.ok()) return failure;
  return devices;
}

}  // namespace spirloom::vulkan
