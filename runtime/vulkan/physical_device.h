// The devices of the machine: what they report, and which of them a name, an index or the default
// order selects.
#ifndef SPIRLOOM_RUNTIME_VULKAN_PHYSICAL_DEVICE_H_
#define SPIRLOOM_RUNTIME_VULKAN_PHYSICAL_DEVICE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/vulkan/instance.h"
#include "runtime/vulkan/texture_limits.h"
#include "runtime/vulkan/vk.h"
#include "spirloom/runtime.h"

namespace spirloom::vulkan {

// A VkPhysicalDevice and the facts the runtime asks of it. A value; lives as long as its Instance.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};  // with .limits
  // What may be used of it: no more than what the instance was made for.
  uint32_t api_version = 0;
  VkPhysicalDeviceMemoryProperties memory{};
  uint64_t max_memory_allocation_size = 0;
  uint64_t max_buffer_size = 0;  // at most max_memory_allocation_size
  // Of VK_EXT_external_memory_host; 0 without it.
  uint64_t host_pointer_alignment = 0;
  TextureLimits texture3d;
  TextureLimits texture2d;
  // Bit i: pack::Capability i.
  uint64_t capabilities = 0;
  uint32_t subgroup_size = 0;
  // A family with compute, preferably without graphics; absent when there is none.
  std::optional<uint32_t> queue_family;
  std::vector<VkQueueFamilyProperties> queue_families;
  // Of queue_family; 0: the queue has no timestamps.
  uint32_t timestamp_valid_bits = 0;
  std::vector<std::string> extensions;
  DeviceInfo info;  // what the public API shows

  bool HasExtension(const std::string& name) const;
  // Whether the host can map the memory that the device computes in at no cost: integrated and CPU
  // devices.
  bool unified_memory() const;

  // The x of api_version 1.x.
  uint32_t vulkan_minor() const;
};

// What a device reports. Fails where the driver does.
Result<PhysicalDevice> DescribeDevice(const Instance& instance, VkPhysicalDevice handle);

// Lists the devices in the order in which an index selects them: discrete, integrated, other, cpu,
// each as the loader lists them. One that fails to describe itself is left out, with a message to
// the log; fails when there are others than such none.
Result<std::vector<PhysicalDevice>> ListPhysicalDevices(const Instance& instance);

// kUnsupported, naming the device and what it would need.
Status NotUsable(const DeviceInfo& device);

// The position in `devices` that `choice` selects: an index, a uuid, luid or pci address as in
// DeviceInfo, a part of a name (letter case is ignored), or "" for the first usable one; only among
// those that `accept`, if set, takes. Fails with kUnavailable when there are no devices, with
// kInvalidArgument for a device that does not exist or that none is accepted (listing those that
// there are), with kUnsupported for one that is not usable.
Result<size_t> ChooseDevice(const std::vector<DeviceInfo>& devices, const std::string& choice,
                            const std::function<bool(const DeviceInfo&)>& accept = {});

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_PHYSICAL_DEVICE_H_
