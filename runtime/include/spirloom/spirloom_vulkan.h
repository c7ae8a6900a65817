// The C API for embedding in an application with its own Vulkan device: adopted devices,
// semaphores, buffers. The conventions of spirloom.h apply.
//
//   spirloom_device_request* request = NULL;
//   spirloom_device_request_create(libraries, 1, instance, VK_API_VERSION_1_3, physical_device,
//                                  NULL, &request, &error);
//   spirloom_device_request_add_to(request, &features, &error);
//   // Create the device with `features` and spirloom_device_request_extensions(), then:
//   spirloom_adopted_device adopted = SPIRLOOM_INIT(spirloom_adopted_device);
//   adopted.instance = instance;  // and the other members
//   runtime_options.adopt = &adopted;
//
// This header includes vulkan_core.h for its types only: Spirloom calls no Vulkan prototype. On
// platforms with 64-bit handles, languages without these types may pass handles as integers.
#ifndef SPIRLOOM_SPIRLOOM_VULKAN_H_
#define SPIRLOOM_SPIRLOOM_VULKAN_H_

#include <vulkan/vulkan_core.h>

#include "spirloom/spirloom.h"

#ifdef __cplusplus
extern "C" {
#endif

// The application's device, for spirloom_runtime_options.adopt. All handles remain owned by the
// application and must outlive the runtime, its models and their runs. No handle may be null.
typedef struct spirloom_adopted_device {
  size_t struct_size;
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue;         // of `queue_family`, which must have VK_QUEUE_COMPUTE_BIT
  uint32_t api_version;  // VkApplicationInfo::apiVersion; at least VK_API_VERSION_1_1
  uint32_t queue_family;
  // Resolves all Vulkan functions. NULL: that of the Vulkan loader, which is then loaded.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  // The VkDeviceCreateInfo::pNext chain, or only a VkPhysicalDeviceFeatures2. Kernels use the
  // features that are enabled in it; NULL: none. Read during runtime creation only.
  const void* features;
  // VkDeviceCreateInfo::ppEnabledExtensionNames; read during runtime creation only.
  const char* const* extensions;
  size_t extension_count;
  // Called around each use of `queue`, which Vulkan requires to be externally synchronized; never
  // nested. NULL (both): no other thread uses the queue while Spirloom loads, submits or runs. They
  // must not throw or longjmp.
  void (*lock_queue)(void* data);
  void (*unlock_queue)(void* data);
  void* queue_data;
} spirloom_adopted_device;

// The features and extensions to enable in VkDeviceCreateInfo of a device that will be adopted: all
// that the kernels of the libraries can use and the device supports.
typedef struct spirloom_device_request spirloom_device_request;

// For `physical_device` of `instance`, which was created for `api_version`. The libraries may be
// destroyed afterwards; `get_instance_proc_addr` as in spirloom_adopted_device. Fails like
// spirloom_runtime_create() for the libraries and the Vulkan loader.
SPIRLOOM_C_API spirloom_status spirloom_device_request_create(
    const spirloom_library* const* libraries, size_t library_count, VkInstance instance,
    uint32_t api_version, VkPhysicalDevice physical_device,
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, spirloom_device_request** request,
    spirloom_error** error);
SPIRLOOM_C_API void spirloom_device_request_destroy(spirloom_device_request* request);
// Enables the features in a chain for VkDeviceCreateInfo::pNext: in structs of the chain, including
// VkPhysicalDeviceVulkan11Features to 13Features, or in structs that it appends, which are valid as
// long as the request. Call it once per request.
SPIRLOOM_C_API spirloom_status spirloom_device_request_add_to(spirloom_device_request* request,
                                                              VkPhysicalDeviceFeatures2* chain,
                                                              spirloom_error** error);
// Returns `*count` names for VkDeviceCreateInfo::ppEnabledExtensionNames, valid as long as the
// request; NULL and 0 if `request` is NULL.
SPIRLOOM_C_API const char* const* spirloom_device_request_extensions(
    const spirloom_device_request* request, size_t* count);

// A semaphore of the application. The struct has no size and will never change.
typedef struct spirloom_semaphore_point {
  VkSemaphore semaphore;
  uint64_t value;  // of a timeline semaphore: the value to wait for or to signal
  bool timeline;   // false: a binary semaphore
} spirloom_semaphore_point;

typedef struct spirloom_submit_options {
  size_t struct_size;
  // The run starts when these are signaled; prior writes are visible to it.
  const spirloom_semaphore_point* wait;
  size_t wait_count;
  // Signaled when the run has ended and its outputs are written, for queues of the same device.
  const spirloom_semaphore_point* signal;
  size_t signal_count;
} spirloom_submit_options;

// Starts a run on the current inputs that waits for and signals the application's semaphores.
SPIRLOOM_C_API spirloom_status spirloom_model_submit_with(spirloom_model* model,
                                                          const spirloom_submit_options* options,
                                                          spirloom_pending_run** run,
                                                          spirloom_error** error);

// Bind a buffer of the application: the following runs read input i from, or write output i to,
// `size` bytes at `offset`, by a copy on the device. The buffer must stay valid while bound;
// spirloom_model_input_bytes() or spirloom_model_output_bytes() of a bound tensor is not used.
// VK_NULL_HANDLE unbinds. The buffer must be created on the runtime's device with
// VK_BUFFER_USAGE_TRANSFER_SRC_BIT (inputs) or VK_BUFFER_USAGE_TRANSFER_DST_BIT (outputs), and
// during runs be owned by the runtime's queue family or be concurrent. Submissions to the runtime's
// queue are ordered with the copy; other queues need semaphores. Fail with
// SPIRLOOM_INVALID_ARGUMENT if the range is smaller than the tensor (the next run fails if a later
// resize exceeds it), SPIRLOOM_BUSY during a run.
SPIRLOOM_C_API spirloom_status spirloom_model_bind_input_buffer(spirloom_model* model, size_t i,
                                                                VkBuffer buffer, uint64_t offset,
                                                                uint64_t size,
                                                                spirloom_error** error);
SPIRLOOM_C_API spirloom_status spirloom_model_bind_output_buffer(spirloom_model* model, size_t i,
                                                                 VkBuffer buffer, uint64_t offset,
                                                                 uint64_t size,
                                                                 spirloom_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_SPIRLOOM_VULKAN_H_
