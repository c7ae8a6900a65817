// What an application with a Vulkan device of its own passes to Spirloom: the device, semaphores,
// buffers. Apart from the other headers, which need no Vulkan, this one includes Vulkan's for its
// types; Spirloom calls no function through prototypes. Include it after volk.h, if you use that.
#ifndef SPIRLOOM_VULKAN_H_
#define SPIRLOOM_VULKAN_H_

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "spirloom/export.h"
#include "spirloom/library.h"
#include "spirloom/status.h"

namespace spirloom {

// A device of the application's for RuntimeOptions::adopt. Everything in it stays the application's
// and must outlive the runtime, its models and their runs. No handle may be null.
struct AdoptedDevice {
  VkInstance instance = VK_NULL_HANDLE;
  // VkApplicationInfo::apiVersion of the instance: at least VK_API_VERSION_1_1.
  uint32_t api_version = 0;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  // A queue of `queue_family`, which has VK_QUEUE_COMPUTE_BIT.
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  // Where every function comes from. Null: the Vulkan loader's, which is then loaded.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  // What VkDeviceCreateInfo::pNext was, or a VkPhysicalDeviceFeatures2 alone: kernels use those of
  // the features in the chain that are on. Null: none is. Read during Create() only.
  // DeviceRequest says which ones the kernels of a library can use.
  const void* features = nullptr;
  // VkDeviceCreateInfo::ppEnabledExtensionNames; read during Create() only.
  std::span<const char* const> extensions = {};
  // Called around every use of `queue` (vkQueueSubmit, vkQueueWaitIdle), which Vulkan wants
  // synchronised; never one inside the other. Empty: no other thread uses the queue while Spirloom
  // runs, submits or loads.
  std::function<void()> lock_queue = {};
  std::function<void()> unlock_queue = {};
};

// What to ask of a device that is to be adopted: everything that kernels of the libraries can use
// and the device has. Moves; structs that AddTo() appended move not.
class SPIRLOOM_API DeviceRequest {
 public:
  // For `physical_device` of `instance`, which was made for `api_version`. `get_instance_proc_addr`
  // as in AdoptedDevice. Fails as Runtime::Create() does for the libraries and the Vulkan loader.
  static Result<DeviceRequest> Create(std::span<const ShaderLibrary* const> libraries,
                                      VkInstance instance, uint32_t api_version,
                                      VkPhysicalDevice physical_device,
                                      PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr);

  DeviceRequest(DeviceRequest&&) noexcept;
  DeviceRequest& operator=(DeviceRequest&&) noexcept;
  ~DeviceRequest();

  // Turns features on in a chain for VkDeviceCreateInfo::pNext: in the structs that it has, those
  // of Vulkan 1.1 to 1.3 among them, or in own ones that it appends, which live as long as this.
  // Once for each request.
  void AddTo(VkPhysicalDeviceFeatures2& chain);
  // What ppEnabledExtensionNames needs for that; empty on most devices of Vulkan 1.3.
  const std::vector<const char*>& extensions() const;

 private:
  struct State;
  explicit DeviceRequest(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A semaphore of the application's in SubmitOptions.
struct SemaphorePoint {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  // Of a timeline semaphore the value to wait for or to signal; absent for a binary one.
  std::optional<uint64_t> value = {};
};

// For Model::Submit(). The spans are read during the call only.
struct SubmitOptions {
  // The run starts when these are signalled, and sees what was written before.
  std::span<const SemaphorePoint> wait = {};
  // Signalled when the run has ended and its outputs are written, for queues of the same device.
  std::span<const SemaphorePoint> signal = {};
};

// A part of a buffer of the application's for Model::BindInput() and BindOutput(). The buffer was
// created on the runtime's device, with VK_BUFFER_USAGE_TRANSFER_SRC_BIT for an input and
// VK_BUFFER_USAGE_TRANSFER_DST_BIT for an output, and is exclusive to the runtime's queue family
// during a run, or concurrent.
struct ExternalBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0;  // of the tensor's first byte
  uint64_t size = 0;    // bytes from there on that are the tensor's to use
};

}  // namespace spirloom

#endif  // SPIRLOOM_VULKAN_H_
