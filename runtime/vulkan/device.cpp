#include "runtime/vulkan/device.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/pack/capability.h"
#include "runtime/vulkan/debug_tools.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/fence.h"
#include "spirloom/vulkan.h"

namespace spirloom::vulkan {

namespace {

using HandleProperties = PFN_vkGetMemoryHostPointerPropertiesEXT;

template <typename... Values>
void AddLine(std::string& text, FormatString<sizeof...(Values)> line, const Values&... values) {
  text += "\n - ";
  text += Format(line, values...);
}

// One line for each missing requirement of an adopted device.
std::string MissingRequirements(const PhysicalDevice& physical, const AdoptedDevice& adopted) {
  std::string lines;
  if (physical.api_version < VK_API_VERSION_1_1) {
    AddLine(
        lines,
        "Vulkan 1.1: the device has version {} and the instance 1.{} (AdoptedDevice::api_version)",
        physical.info.api_version, VK_API_VERSION_MINOR(adopted.api_version));
  }
  if (adopted.queue_family >= physical.queue_families.size()) {
    AddLine(lines, "queue family {}: the device has {} families", adopted.queue_family,
            physical.queue_families.size());
  } else if ((physical.queue_families[adopted.queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT) ==
             0) {
    AddLine(lines, "VK_QUEUE_COMPUTE_BIT in queue family {}", adopted.queue_family);
  }
  for (const char* extension : adopted.extensions) {
    if (physical.HasExtension(extension)) continue;
    AddLine(lines, "extension {} of AdoptedDevice::extensions", extension);
  }
  return lines;
}

// The extension for priorities of queues; null without one.
const char* PriorityExtension(const PhysicalDevice& physical) {
  for (const char* name :
       {VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME, VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME}) {
    if (physical.HasExtension(name)) return name;
  }
  return nullptr;
}

}  // namespace

// Locks the queue: first the mutex, so that the application's lock is never used by two threads.
class Device::QueueLock {
 public:
  explicit QueueLock(const Device& device) : device_(device), lock_(device.queue_mutex_) {
    if (device.lock_queue_) device.lock_queue_();
  }
  QueueLock(const QueueLock&) = delete;
  QueueLock& operator=(const QueueLock&) = delete;
  ~QueueLock() {
    if (device_.unlock_queue_) device_.unlock_queue_();
  }

 private:
  const Device& device_;
  const std::scoped_lock<std::mutex> lock_;
};

Device::Device(const Instance& instance, PhysicalDevice&& physical, uint64_t capabilities)
    : instance_(instance),
      physical_(std::move(physical)),
      capabilities_(physical_.capabilities & capabilities) {}

Result<std::unique_ptr<Device>> Device::Create(const Instance& instance, PhysicalDevice described,
                                               uint64_t capabilities,
                                               const DeviceOptions& options) {
  std::unique_ptr<Device> device(new Device(instance, std::move(described), capabilities));
  const PhysicalDevice& physical = device->physical_;
  if (!physical.info.usable) return NotUsable(physical.info);
  const float priority = 1.0F;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = *physical.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;

  FeatureChain features(physical.api_version, physical.extensions, capabilities);
  features.Query(instance.fn(), physical.handle);
  features.DisableUnrequested();
  std::vector<const char*> extensions = features.extensions();
  // For modules with debug information; part of Vulkan 1.3.
  if (physical.HasExtension(VK_KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME))
    extensions.push_back(VK_KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME);
  VkDeviceQueueGlobalPriorityCreateInfoKHR global_priority{};
  global_priority.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR;
  global_priority.globalPriority = options.priority == Priority::kLow
                                       ? VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR
                                       : VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR;
  if (options.priority != Priority::kDefault) {
    if (const char* extension = PriorityExtension(physical); extension != nullptr) {
      queue.pNext = &global_priority;
      extensions.push_back(extension);
    } else {
      instance.host().Log(LogLevel::kWarning,
                          "RuntimeOptions::priority has no effect: the device '{}' does not "
                          "support VK_KHR_global_priority.",
                          physical.info.name);
    }
  }
  // For the message of a lost device.
  VkPhysicalDeviceFaultFeaturesEXT fault{};
  fault.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FAULT_FEATURES_EXT;
  const bool describes_faults = physical.HasExtension(VK_EXT_DEVICE_FAULT_EXTENSION_NAME);
  if (describes_faults) {
    fault.deviceFault = VK_TRUE;  // required by the extension
    extensions.push_back(VK_EXT_DEVICE_FAULT_EXTENSION_NAME);
  }
  const bool import_host_memory = options.import_host_memory && physical.host_pointer_alignment > 0;
  if (import_host_memory) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  fault.pNext = const_cast<VkPhysicalDeviceFeatures2*>(features.head());
  info.pNext = describes_faults ? static_cast<const void*>(&fault) : features.head();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();

  VkDevice handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(instance.fn().vkCreateDevice(physical.handle, &info, instance.allocator(), &handle),
               "vkCreateDevice"));
  SPIRLOOM_TRY(device->Initialize(handle, import_host_memory));
  if (instance.debug_utils() && (instance.labels() || HasDebugTool(instance, physical))) {
    device->set_object_name_ =
        instance.Get<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT");
    device->begin_label_ =
        instance.Get<PFN_vkCmdBeginDebugUtilsLabelEXT>("vkCmdBeginDebugUtilsLabelEXT");
    device->end_label_ = instance.Get<PFN_vkCmdEndDebugUtilsLabelEXT>("vkCmdEndDebugUtilsLabelEXT");
  }
  device->fn().vkGetDeviceQueue(handle, *physical.queue_family, /*queueIndex=*/0, &device->queue_);
  return device;
}

Result<std::unique_ptr<Device>> Device::Adopt(const Instance& instance, PhysicalDevice described,
                                              const AdoptedDevice& adopted, uint64_t capabilities) {
  const uint64_t enabled = EnabledCapabilities(adopted.features) | ~kFeatureCapabilities;
  const uint64_t disabled = described.capabilities & capabilities & ~enabled;
  std::unique_ptr<Device> device(
      new Device(instance, std::move(described), capabilities & enabled));
  PhysicalDevice& physical = device->physical_;
  const std::string missing = MissingRequirements(physical, adopted);
  if (!missing.empty()) {
    return Error(StatusCode::kUnsupported,
                 "The adopted device '{}' does not meet the requirements. Missing:{}",
                 physical.info.name, missing);
  }
  if (disabled != 0) {
    std::string names;
    for (const std::string& name : pack::CapabilityNames(disabled)) names += ' ' + name;
    instance.host().Log(LogLevel::kWarning,
                        "The adopted device supports features that AdoptedDevice::features does "
                        "not enable:{}. DeviceRequest adds them to VkDeviceCreateInfo.",
                        names);
  }
  device->adopted_ = true;
  device->timeline_semaphores_ = EnablesTimelineSemaphores(adopted.features);
  physical.queue_family = adopted.queue_family;
  physical.timestamp_valid_bits = physical.queue_families[adopted.queue_family].timestampValidBits;
  physical.capabilities &= enabled;
  physical.info.features = pack::CapabilityNames(physical.capabilities);
  device->queue_ = adopted.queue;
  device->lock_queue_ = adopted.lock_queue;
  device->unlock_queue_ = adopted.unlock_queue;
  const auto enables = [&adopted](std::string_view extension) {
    return std::ranges::find(adopted.extensions, extension) != adopted.extensions.end();
  };
  if (physical.api_version < VK_API_VERSION_1_2 &&
      !enables(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME))
    physical.f16_rounding = pack::F16Rounding::kArithmetic;
  SPIRLOOM_TRY(
      device->Initialize(adopted.device, enables(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)));
  return device;
}

Status Device::Initialize(VkDevice handle, bool import_host_memory) {
  handle_ = handle;
  const PFN_vkGetDeviceProcAddr get = instance_.fn().vkGetDeviceProcAddr;
  if (import_host_memory) {
    host_pointer_properties_ =
        reinterpret_cast<HandleProperties>(get(handle, "vkGetMemoryHostPointerPropertiesEXT"));
  }
  return functions_.Load(get, handle);
}

Device::~Device() {
  if (handle_ == VK_NULL_HANDLE || adopted_ || abandoned_) return;
  // Null if the driver lacks them, which made loading the table fail.
  if (functions_.vkDestroyDevice == nullptr || functions_.vkDeviceWaitIdle == nullptr) return;
  functions_.vkDeviceWaitIdle(handle_);
  functions_.vkDestroyDevice(handle_, allocator());
}

Status Device::Submit(VkCommandBuffer commands, VkFence fence) const {
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  return Submit(info, fence);
}

Status Device::Submit(const VkSubmitInfo& info, VkFence fence) const {
  SPIRLOOM_TRY(CheckAlive());
  const QueueLock lock(*this);
  counters_.submits.fetch_add(1);
  return Check(fn().vkQueueSubmit(queue_, /*submitCount=*/1, &info, fence), "vkQueueSubmit");
}

VkResult Device::SubmitFence(VkFence fence) const {
  const QueueLock lock(*this);
  return fn().vkQueueSubmit(queue_, /*submitCount=*/0, /*pSubmits=*/nullptr, fence);
}

Status Device::SubmitAndWait(VkCommandBuffer commands) const {
  SPIRLOOM_TRY_ASSIGN(Fence fence, Fence::Create(*this));
  SPIRLOOM_TRY(Submit(commands, fence.handle()));
  return fence.Wait();
}

void Device::SetObjectName(VkObjectType type, uint64_t handle, const std::string& name) const {
  const VkDebugUtilsObjectNameInfoEXT info{
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
      .pNext = nullptr,
      .objectType = type,
      .objectHandle = handle,
      .pObjectName = name.c_str()};
  set_object_name_(handle_, &info);
}

void Device::BeginLabel(VkCommandBuffer commands, const std::string& label) const {
  if (begin_label_ == nullptr) return;
  VkDebugUtilsLabelEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
  info.pLabelName = label.c_str();
  begin_label_(commands, &info);
}

void Device::EndLabel(VkCommandBuffer commands) const {
  if (end_label_ != nullptr) end_label_(commands);
}

}  // namespace spirloom::vulkan
