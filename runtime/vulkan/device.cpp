#include "runtime/vulkan/device.h"

#include "runtime/base/error.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/fence.h"

namespace spirloom::vulkan {

Result<std::unique_ptr<Device>> Device::Create(const Instance& instance,
                                               const PhysicalDevice& physical,
                                               uint64_t capabilities) {
  if (!physical.info.usable) {
    return Error(StatusCode::kUnsupported,
                 {"The device '", physical.info.name, "' lacks Vulkan 1.1 or a compute queue."});
  }
  const float priority = 1.0F;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = *physical.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;

  FeatureChain features(physical.properties.apiVersion, physical.extensions, capabilities);
  features.Query(physical.handle);
  features.KeepWanted();
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = features.head();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(features.extensions().size());
  info.ppEnabledExtensionNames = features.extensions().data();

  std::unique_ptr<Device> device(new Device(physical, capabilities));
  SPIRLOOM_TRY(
      ToStatus(vkCreateDevice(physical.handle, &info, /*pAllocator=*/nullptr, &device->handle_),
               "vkCreateDevice"));
  volkLoadDeviceTable(&device->functions_, device->handle_);
  if (instance.debug_utils()) {
    device->set_object_name_ = reinterpret_cast<PFN_vkSetDebugUtilsObjectNameEXT>(
        vkGetInstanceProcAddr(instance.handle(), "vkSetDebugUtilsObjectNameEXT"));
  }
  device->fn().vkGetDeviceQueue(device->handle_, *physical.queue_family, /*queueIndex=*/0,
                                &device->queue_);
  return device;
}

Device::~Device() {
  if (handle_ == VK_NULL_HANDLE || abandoned_) return;
  functions_.vkDeviceWaitIdle(handle_);
  functions_.vkDestroyDevice(handle_, /*pAllocator=*/nullptr);
}

Status Device::Submit(VkCommandBuffer commands, VkFence fence) const {
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  SPIRLOOM_TRY(CheckAlive());
  const std::scoped_lock lock(queue_mutex_);
  counters_.submits.fetch_add(1);
  return Check(fn().vkQueueSubmit(queue_, /*submitCount=*/1, &info, fence), "vkQueueSubmit");
}

Status Device::SubmitAndWait(VkCommandBuffer commands) const {
  SPIRLOOM_TRY_ASSIGN(Fence fence, Fence::Create(*this));
  SPIRLOOM_TRY(Submit(commands, fence.handle()));
  return fence.Wait();
}

Status Device::WaitIdle() const {
  const std::scoped_lock lock(queue_mutex_);
  return Check(fn().vkQueueWaitIdle(queue_), "vkQueueWaitIdle");
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

}  // namespace spirloom::vulkan
