#include "tests/support/adopted_device_application.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string_view>

namespace spirloom::testing {
namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                         VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data,
                                         void* user) {
  // A thread of the layer (1.3.239) missed a signal and waited for 10 s: seen for a semaphore and a
  // fence, with other processes on all cores. It says so, in two spellings.
  const std::string_view message = data->pMessage;
  if (message.find("This is most likely a validation bug.") == std::string_view::npos &&
      message.find("This is most likley a validation bug.") == std::string_view::npos) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(message);
  }
  return VK_FALSE;
}

void Expect(VkResult result) { EXPECT_EQ(result, VK_SUCCESS); }

}  // namespace

std::unique_ptr<Application> Application::Create() {
  std::unique_ptr<Application> application(new Application());
  auto get = vulkan::LoadLoader();
  if (!get.ok()) return nullptr;
  application->get_ = *get;
  return application->MakeInstance() && application->MakeDevice() ? std::move(application)
                                                                  : nullptr;
}

bool Application::MakeInstance() {
  const VkValidationFeatureEnableEXT enabled =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT validation{};
  validation.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  validation.enabledValidationFeatureCount = 1;
  validation.pEnabledValidationFeatures = &enabled;
  const std::array layers{"VK_LAYER_KHRONOS_validation"};
  const std::array extensions{VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                              VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pNext = &validation;
  info.pApplicationInfo = &application;
  info.enabledLayerCount = static_cast<uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  if (Get<PFN_vkCreateInstance>("vkCreateInstance")(&info, nullptr, &instance_) != VK_SUCCESS) {
    return false;
  }
  VkDebugUtilsMessengerCreateInfoEXT messenger{};
  messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = &OnMessage;
  messenger.pUserData = &messages_;
  Expect(Get<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT")(
      instance_, &messenger, nullptr, &messenger_));
  return functions_.Load(get_, instance_).ok();
}

bool Application::MakeDevice() {
  uint32_t count = 1;
  functions_.vkEnumeratePhysicalDevices(instance_, &count, &physical_);
  VkPhysicalDeviceProperties properties{};
  functions_.vkGetPhysicalDeviceProperties(physical_, &properties);
  if (properties.apiVersion < VK_API_VERSION_1_2) return false;
  count = 0;
  functions_.vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  functions_.vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  while (family_ < count && (families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family_;

  features_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features11_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  features12_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features_.pNext = &features11_;
  features11_.pNext = &features12_;
  functions_.vkGetPhysicalDeviceFeatures2(physical_, &features_);
  if (features12_.timelineSemaphore == VK_FALSE) return false;
  uint32_t names = 0;
  functions_.vkEnumerateDeviceExtensionProperties(physical_, nullptr, &names, nullptr);
  std::vector<VkExtensionProperties> known(names);
  functions_.vkEnumerateDeviceExtensionProperties(physical_, nullptr, &names, known.data());
  for (const VkExtensionProperties& extension : known) {
    if (std::strcmp(extension.extensionName, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) == 0) {
      extensions_.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    }
    if (std::strcmp(extension.extensionName, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME) == 0) {
      extensions_.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
      exports_fds_ = true;
    }
  }
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features_;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
  info.ppEnabledExtensionNames = extensions_.data();
  if (functions_.vkCreateDevice(physical_, &info, nullptr, &device_) != VK_SUCCESS) return false;
  if (!fn_.Load(functions_.vkGetDeviceProcAddr, device_).ok()) return false;
  fn_.vkGetDeviceQueue(device_, family_, 0, &queue_);
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = family_;
  Expect(fn_.vkCreateCommandPool(device_, &pool, nullptr, &pool_));
  return true;
}

AdoptedDevice Application::Adoptable() {
  AdoptedDevice adopted;
  adopted.instance = instance_;
  adopted.api_version = VK_API_VERSION_1_2;
  adopted.physical_device = physical_;
  adopted.device = device_;
  adopted.queue = queue_;
  adopted.queue_family = family_;
  adopted.get_instance_proc_addr = get_;
  adopted.features = &features_;
  adopted.extensions = extensions_;
  adopted.lock_queue = [this] {
    EXPECT_FALSE(locked_);
    locked_ = true;
    ++locks_;
  };
  adopted.unlock_queue = [this] { locked_ = false; };
  return adopted;
}

HostBuffer Application::MakeBuffer(VkDeviceSize size) {
  HostBuffer result;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = size;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  Expect(fn_.vkCreateBuffer(device_, &info, nullptr, &result.buffer));
  buffers_.push_back(result.buffer);
  Allocate(result.buffer, /*next=*/nullptr, &result.mapped);
  return result;
}

VkMemoryAllocateInfo Application::Allocate(VkBuffer buffer, const void* next, void** mapped) {
  VkMemoryRequirements requirements{};
  fn_.vkGetBufferMemoryRequirements(device_, buffer, &requirements);
  VkPhysicalDeviceMemoryProperties memory{};
  functions_.vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
  constexpr VkMemoryPropertyFlags kMapped =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.pNext = next;
  allocation.allocationSize = requirements.size;
  while ((requirements.memoryTypeBits >> allocation.memoryTypeIndex & 1) == 0 ||
         (memory.memoryTypes[allocation.memoryTypeIndex].propertyFlags & kMapped) != kMapped) {
    ++allocation.memoryTypeIndex;
  }
  VkDeviceMemory handle = VK_NULL_HANDLE;
  Expect(fn_.vkAllocateMemory(device_, &allocation, nullptr, &handle));
  memories_.push_back(handle);
  Expect(fn_.vkBindBufferMemory(device_, buffer, handle, 0));
  Expect(fn_.vkMapMemory(device_, handle, 0, VK_WHOLE_SIZE, 0, mapped));
  return allocation;
}

ExportedBuffer Application::ExportBuffer(VkDeviceSize size) {
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.pNext = &external;
  info.size = size;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  Expect(fn_.vkCreateBuffer(device_, &info, nullptr, &buffer));
  buffers_.push_back(buffer);
  VkExportMemoryAllocateInfo exported{};
  exported.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
  exported.handleTypes = external.handleTypes;
  ExportedBuffer result;
  const VkMemoryAllocateInfo allocation = Allocate(buffer, &exported, &result.mapped);
  result.size = allocation.allocationSize;
  result.memory_type = allocation.memoryTypeIndex;
  VkMemoryGetFdInfoKHR get{};
  get.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
  get.memory = memories_.back();
  get.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  Expect(Get<PFN_vkGetMemoryFdKHR>("vkGetMemoryFdKHR")(device_, &get, &result.fd));
  return result;
}

VkSemaphore Application::MakeSemaphore(const void* next) {
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = next;
  VkSemaphore semaphore = VK_NULL_HANDLE;
  Expect(Get<PFN_vkCreateSemaphore>("vkCreateSemaphore")(device_, &info, nullptr, &semaphore));
  return semaphores_.emplace_back(semaphore);
}

VkSemaphore Application::MakeTimeline() {
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  return MakeSemaphore(&type);
}

VkSemaphore Application::MakeBinary() { return MakeSemaphore(nullptr); }

void Application::Copy(const HostBuffer& source, VkDeviceSize source_offset,
                       const HostBuffer& target, VkDeviceSize target_offset, VkDeviceSize size,
                       std::optional<SemaphorePoint> wait, std::optional<SemaphorePoint> signal) {
  VkCommandBufferAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocation.commandPool = pool_;
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  Expect(fn_.vkAllocateCommandBuffers(device_, &allocation, &commands));
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  Expect(fn_.vkBeginCommandBuffer(commands, &begin));
  const VkBufferCopy region{source_offset, target_offset, size};
  fn_.vkCmdCopyBuffer(commands, source.buffer, target.buffer, 1, &region);
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  fn_.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                           1, &barrier, 0, nullptr, 0, nullptr);
  Expect(fn_.vkEndCommandBuffer(commands));

  const uint64_t wait_value = wait ? wait->value.value_or(0) : 0;
  const uint64_t signal_value = signal ? signal->value.value_or(0) : 0;
  VkTimelineSemaphoreSubmitInfo values{};
  values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  values.waitSemaphoreValueCount = wait ? 1 : 0;
  values.pWaitSemaphoreValues = &wait_value;
  values.signalSemaphoreValueCount = signal ? 1 : 0;
  values.pSignalSemaphoreValues = &signal_value;
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &values;
  info.waitSemaphoreCount = wait ? 1 : 0;
  info.pWaitSemaphores = wait ? &wait->semaphore : nullptr;
  info.pWaitDstStageMask = &stage;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  info.signalSemaphoreCount = signal ? 1 : 0;
  info.pSignalSemaphores = signal ? &signal->semaphore : nullptr;
  Expect(fn_.vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE));
}

void Application::WaitFor(VkSemaphore timeline, uint64_t value) {
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline;
  info.pValues = &value;
  Expect(Get<PFN_vkWaitSemaphores>("vkWaitSemaphores")(device_, &info, 10'000'000'000));
}

Application::~Application() {
  if (device_ != VK_NULL_HANDLE) {
    fn_.vkDeviceWaitIdle(device_);
    const auto destroy = Get<PFN_vkDestroySemaphore>("vkDestroySemaphore");
    for (VkSemaphore semaphore : semaphores_) destroy(device_, semaphore, nullptr);
    for (VkBuffer buffer : buffers_) fn_.vkDestroyBuffer(device_, buffer, nullptr);
    for (VkDeviceMemory memory : memories_) fn_.vkFreeMemory(device_, memory, nullptr);
    fn_.vkDestroyCommandPool(device_, pool_, nullptr);
    fn_.vkDestroyDevice(device_, nullptr);
  }
  if (instance_ == VK_NULL_HANDLE) return;
  Get<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT")(instance_, messenger_,
                                                                              nullptr);
  functions_.vkDestroyInstance(instance_, nullptr);
}

}  // namespace spirloom::testing
