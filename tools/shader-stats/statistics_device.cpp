#include "tools/shader-stats/statistics_device.h"

#include <vector>

#include "runtime/base/error.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/physical_device.h"
#include "spirloom/vulkan.h"

namespace spirloom::tools {
namespace {

constexpr const char* kExtension = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;

// The physical device that `choice` selects.
Result<vulkan::PhysicalDevice> Choose(const vulkan::Instance& instance, const std::string& choice) {
  SPIRLOOM_TRY_ASSIGN(const std::vector<vulkan::PhysicalDevice> devices,
                      vulkan::ListPhysicalDevices(instance));
  std::vector<DeviceInfo> infos;
  infos.reserve(devices.size());
  for (const vulkan::PhysicalDevice& device : devices) infos.push_back(device.info);
  SPIRLOOM_TRY_ASSIGN(const size_t index, vulkan::ChooseDevice(infos, choice));
  return devices[index];
}

}  // namespace

Result<std::unique_ptr<StatisticsDevice>> StatisticsDevice::Create(const std::string& choice,
                                                                   uint64_t capabilities) {
  std::unique_ptr<StatisticsDevice> result(new StatisticsDevice());
  SPIRLOOM_TRY_ASSIGN(result->instance_, vulkan::Instance::Create({}));
  SPIRLOOM_TRY_ASSIGN(const vulkan::PhysicalDevice physical, Choose(*result->instance_, choice));
  if (!physical.HasExtension(kExtension)) {
    return Error(StatusCode::kUnsupported,
                 "The device '{}' does not support {}, which reports the statistics of pipelines. "
                 "Choose another with --device; Mesa's RADV supports it.",
                 physical.info.name, kExtension);
  }
  SPIRLOOM_TRY(result->CreateDevice(physical, capabilities));
  return result;
}

Status StatisticsDevice::CreateDevice(const vulkan::PhysicalDevice& physical,
                                      uint64_t capabilities) {
  vulkan::FeatureChain features(physical.api_version, physical.extensions, capabilities);
  features.Query(instance_->fn(), physical.handle);
  features.DisableUnrequested();
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable{};
  executable.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
  executable.pNext = const_cast<VkPhysicalDeviceFeatures2*>(features.head());
  executable.pipelineExecutableInfo = VK_TRUE;

  const float priority = 1.0F;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = *physical.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  std::vector<const char*> extensions = features.extensions();
  extensions.push_back(kExtension);
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &executable;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  SPIRLOOM_TRY(vulkan::ToStatus(
      instance_->fn().vkCreateDevice(physical.handle, &info, /*pAllocator=*/nullptr, &handle_),
      "vkCreateDevice"));

  const PFN_vkGetDeviceProcAddr get = instance_->fn().vkGetDeviceProcAddr;
  destroy_ = reinterpret_cast<PFN_vkDestroyDevice>(get(handle_, "vkDestroyDevice"));
  executables_ = reinterpret_cast<PFN_vkGetPipelineExecutablePropertiesKHR>(
      get(handle_, "vkGetPipelineExecutablePropertiesKHR"));
  statistics_ = reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(
      get(handle_, "vkGetPipelineExecutableStatisticsKHR"));
  if (executables_ == nullptr || statistics_ == nullptr)
    return Error(StatusCode::kUnavailable, "The driver lacks functions of {}.", kExtension);

  AdoptedDevice adopted;
  adopted.instance = instance_->handle();
  adopted.api_version = instance_->api_version();
  adopted.physical_device = physical.handle;
  adopted.device = handle_;
  const auto get_queue = reinterpret_cast<PFN_vkGetDeviceQueue>(get(handle_, "vkGetDeviceQueue"));
  get_queue(handle_, *physical.queue_family, /*queueIndex=*/0, &adopted.queue);
  adopted.queue_family = *physical.queue_family;
  adopted.features = features.head();
  adopted.extensions = extensions;
  SPIRLOOM_TRY_ASSIGN(device_, vulkan::Device::Adopt(*instance_, physical, adopted, capabilities));
  return Status();
}

StatisticsDevice::~StatisticsDevice() {
  device_.reset();
  if (handle_ != VK_NULL_HANDLE && destroy_ != nullptr) destroy_(handle_, nullptr);
}

}  // namespace spirloom::tools
