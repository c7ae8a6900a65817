// Embedding in an application with its own Vulkan device: adopted devices, semaphores, buffers.
//
//   SPIRLOOM_TRY_ASSIGN(spirloom::DeviceRequest request,
//                       spirloom::DeviceRequest::Create(libraries, instance, VK_API_VERSION_1_3,
//                                                       physical_device));
//   request.AddTo(features);  // a VkPhysicalDeviceFeatures2 for VkDeviceCreateInfo::pNext
//   // Create the device with request.extensions(), then:
//   spirloom::AdoptedDevice adopted{.instance = instance, .api_version = VK_API_VERSION_1_3,
//                                   .physical_device = physical_device, .device = device,
//                                   .queue = queue, .queue_family = family, .features = &features};
//   options.adopt = &adopted;
//
// Unlike the other headers, this one includes vulkan_core.h, for its types only: Spirloom calls no
// Vulkan prototype. With volk, include volk.h first.
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

// The application's device, for RuntimeOptions::adopt. All handles remain owned by the application
// and must outlive the runtime, its models and their runs. No handle may be null.
struct AdoptedDevice {
  VkInstance instance = VK_NULL_HANDLE;
  // VkApplicationInfo::apiVersion of the instance; at least VK_API_VERSION_1_1.
  uint32_t api_version = 0;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  // A queue of `queue_family`, which must have VK_QUEUE_COMPUTE_BIT.
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  // Resolves all Vulkan functions. Null: that of the Vulkan loader, which is then loaded.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  // The VkDeviceCreateInfo::pNext chain, or only a VkPhysicalDeviceFeatures2. Kernels use the
  // features that are enabled in it; null: none. Read during Create() only. DeviceRequest lists the
  // features that kernels of a library can use.
  const void* features = nullptr;
  // VkDeviceCreateInfo::ppEnabledExtensionNames; read during Create() only.
  std::span<const char* const> extensions = {};
  // Called around each use of `queue` (vkQueueSubmit), which Vulkan requires to be externally
  // synchronized; never nested, and never while waiting for the GPU. Empty: no other thread uses
  // the queue while Spirloom loads, submits or runs.
  std::function<void()> lock_queue = {};
  std::function<void()> unlock_queue = {};
};

// The features and extensions to enable on a device that will be adopted: all that the kernels of
// the libraries can use and the device supports. Movable; structs that AddTo() appended keep their
// addresses.
class SPIRLOOM_API DeviceRequest {
 public:
  // For `physical_device` of `instance`, which was created for `api_version`.
  // `get_instance_proc_addr` as in AdoptedDevice. Fails like Runtime::Create() for the libraries
  // and the Vulkan loader.
  static Result<DeviceRequest> Create(std::span<const ShaderLibrary* const> libraries,
                                      VkInstance instance, uint32_t api_version,
                                      VkPhysicalDevice physical_device,
                                      PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr);

  DeviceRequest(DeviceRequest&&) noexcept;
  DeviceRequest& operator=(DeviceRequest&&) noexcept;
  ~DeviceRequest();

  // Enables the features in a chain for VkDeviceCreateInfo::pNext: in structs of the chain,
  // including VkPhysicalDeviceVulkan11Features to 13Features, or in structs that it appends, which
  // live as long as the request. Call it once per request.
  void AddTo(VkPhysicalDeviceFeatures2& chain);
  // The names for ppEnabledExtensionNames; empty on most devices with Vulkan 1.3.
  const std::vector<const char*>& extensions() const;

 private:
  struct State;
  explicit DeviceRequest(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A semaphore of the application, for SubmitOptions.
struct SemaphorePoint {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  // The value to wait for or to signal, for a timeline semaphore; empty for a binary one.
  std::optional<uint64_t> value = {};
};

// Semaphores for Model::Submit(). The spans are read during the call only.
struct SubmitOptions {
  // The run starts when these are signaled; prior writes are visible to it.
  std::span<const SemaphorePoint> wait = {};
  // Signaled when the run has ended and its outputs are written, for queues of the same device.
  std::span<const SemaphorePoint> signal = {};
};

// A range of the application's buffer, for Model::BindInput() and BindOutput(). The buffer must be
// created on the runtime's device with VK_BUFFER_USAGE_TRANSFER_SRC_BIT (inputs) or
// VK_BUFFER_USAGE_TRANSFER_DST_BIT (outputs), and during runs be owned by the runtime's queue
// family or be concurrent.
struct ExternalBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0;  // of the first byte of the tensor
  uint64_t size = 0;    // bytes available from the offset on
};

}  // namespace spirloom

#endif  // SPIRLOOM_VULKAN_H_
