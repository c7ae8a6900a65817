// The devices of this machine: their properties, and the selection of one by name, index or default
// order.
#ifndef SPIRLOOM_RUNTIME_VULKAN_PHYSICAL_DEVICE_H_
#define SPIRLOOM_RUNTIME_VULKAN_PHYSICAL_DEVICE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/pack/device_properties.h"
#include "runtime/pack/f16_rounding.h"
#include "runtime/vulkan/instance.h"
#include "runtime/vulkan/quirks.h"
#include "runtime/vulkan/texture_limits.h"
#include "runtime/vulkan/vk.h"
#include "spirloom/runtime.h"

namespace spirloom::vulkan {

// A VkPhysicalDevice and its properties. Copyable; valid as long as its Instance.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};  // with .limits
  // The version to use: the minimum of the device's and the instance's.
  uint32_t api_version = 0;
  VkPhysicalDeviceMemoryProperties memory{};
  uint64_t max_memory_allocation_size = 0;
  uint64_t max_buffer_size = 0;  // at most max_memory_allocation_size
  // minImportedHostPointerAlignment of VK_EXT_external_memory_host; 0 without it.
  uint64_t host_pointer_alignment = 0;
  TextureLimits texture3d;
  TextureLimits texture2d;
  // Bit i: pack::Capability i.
  uint64_t capabilities = 0;
  pack::DeviceProperties kernel_properties;
  pack::F16Rounding f16_rounding = pack::F16Rounding::kArithmetic;
  Quirks quirks;
  // Maximum subgroups per workgroup of pipelines with a required subgroup size.
  uint32_t max_workgroup_subgroups = 0;
  // A compute queue family, preferably without graphics; absent if there is none.
  std::optional<uint32_t> queue_family;
  std::vector<VkQueueFamilyProperties> queue_families;
  // Of queue_family; 0: the queue does not support timestamps.
  uint32_t timestamp_valid_bits = 0;
  std::vector<std::string> extensions;
  DeviceInfo info;  // for the public API

  bool HasExtension(const std::string& name) const;
  // Whether host and device share memory: integrated GPUs and CPU devices.
  bool unified_memory() const;

  // The minor version of api_version.
  uint32_t vulkan_minor() const;
};

// Queries a device. Fails if the driver returns an error.
Result<PhysicalDevice> DescribeDevice(const Instance& instance, VkPhysicalDevice handle);

// Lists the devices; their order defines the index in RuntimeOptions::device: discrete, integrated,
// other, cpu, and within a type the order of the loader. A device whose query fails is omitted with
// a log message; fails if the query of all devices fails.
Result<std::vector<PhysicalDevice>> ListPhysicalDevices(const Instance& instance);

// kUnsupported, with the name of the device and the requirements.
Status NotUsable(const DeviceInfo& device);

// The index in `devices` of the device that matches `choice`: an index (any number is one), a uuid,
// luid or pci identifier, or part of a name (case-insensitive); "" is the first usable device.
// Considers only devices for which `accept`, if set, returns true. Fails with kUnavailable if there
// are no devices, kInvalidArgument if no device matches (the message lists all devices),
// kUnsupported if the matching device is not usable.
Result<size_t> ChooseDevice(const std::vector<DeviceInfo>& devices, const std::string& choice,
                            const std::function<bool(const DeviceInfo&)>& accept = {});

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_PHYSICAL_DEVICE_H_
