// The C API for an application with a Vulkan device of its own: what it passes to Spirloom, and
// gets. Beside spirloom.h, whose first lines hold here too, this header includes Vulkan's for its
// types; Spirloom calls no function through prototypes. Where Vulkan's handles have 64 bits, they
// may be passed as integers by languages that have no such types.
#ifndef SPIRLOOM_SPIRLOOM_VULKAN_H_
#define SPIRLOOM_SPIRLOOM_VULKAN_H_

#include <vulkan/vulkan_core.h>

#include "spirloom/spirloom.h"

#ifdef __cplusplus
extern "C" {
#endif

// A device of the application's, for spirloom_runtime_options.adopt. Everything in it stays the
// application's and must outlive the runtime, its models and their runs. No handle may be null.
typedef struct spirloom_adopted_device {
  size_t struct_size;
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue;         // of `queue_family`, which has VK_QUEUE_COMPUTE_BIT
  uint32_t api_version;  // VkApplicationInfo::apiVersion: at least VK_API_VERSION_1_1
  uint32_t queue_family;
  // Where every function comes from. NULL: the Vulkan loader's, which is then loaded.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  // What VkDeviceCreateInfo::pNext was, or a VkPhysicalDeviceFeatures2 alone: kernels use those of
  // the features in the chain that are on. NULL: none is. Read while the runtime is created.
  const void* features;
  // VkDeviceCreateInfo::ppEnabledExtensionNames; read while the runtime is created.
  const char* const* extensions;
  size_t extension_count;
  // Called around every use of `queue`, which Vulkan wants synchronised; never one inside the
  // other. NULL, both: no other thread uses the queue while Spirloom runs, submits or loads. No
  // exception and no longjmp may leave them.
  void (*lock_queue)(void* data);
  void (*unlock_queue)(void* data);
  void* queue_data;
} spirloom_adopted_device;

// What to ask of a device that is to be adopted, for VkDeviceCreateInfo: everything that kernels of
// the libraries can use and the device has.
typedef struct spirloom_device_request spirloom_device_request;

// For `physical_device` of `instance`, which was made for `api_version`. The libraries may be
// destroyed afterwards; `get_instance_proc_addr` as in spirloom_adopted_device. Fails like
// spirloom_runtime_create() for the libraries and the Vulkan loader.
SPIRLOOM_C_API spirloom_status spirloom_device_request_create(
    const spirloom_library* const* libraries, size_t library_count, VkInstance instance,
    uint32_t api_version, VkPhysicalDevice physical_device,
    PFN_vkGetInstanceProcAddr get_instance_proc_addr, spirloom_device_request** request,
    spirloom_error** error);
SPIRLOOM_C_API void spirloom_device_request_destroy(spirloom_device_request* request);
// Turns features on in a chain for VkDeviceCreateInfo::pNext: in the structs that it has, those of
// Vulkan 1.1 to 1.3 among them, or in own ones that it appends, which last as long as the request.
// Once for each request.
SPIRLOOM_C_API spirloom_status spirloom_device_request_add_to(spirloom_device_request* request,
                                                              VkPhysicalDeviceFeatures2* chain,
                                                              spirloom_error** error);
// `*count` names for VkDeviceCreateInfo::ppEnabledExtensionNames; they last as long as the request.
// Of NULL, NULL and 0.
SPIRLOOM_C_API const char* const* spirloom_device_request_extensions(
    const spirloom_device_request* request, size_t* count);

// A semaphore of the application's. It has no size, and will never change.
typedef struct spirloom_semaphore_point {
  VkSemaphore semaphore;
  uint64_t value;  // of a timeline semaphore: to wait for, or to signal
  bool timeline;   // false: binary, without a value
} spirloom_semaphore_point;

typedef struct spirloom_submit_options {
  size_t struct_size;
  // The run starts when these are signalled, and sees what was written before.
  const spirloom_semaphore_point* wait;
  size_t wait_count;
  // Signalled when the run has ended and its outputs are written, for queues of the same device.
  const spirloom_semaphore_point* signal;
  size_t signal_count;
} spirloom_submit_options;

// spirloom_model_submit() on the GPU's timeline, on the inputs that are there: after semaphores of
// the application's, and signalling others.
SPIRLOOM_C_API spirloom_status spirloom_model_submit_with(spirloom_model* model,
                                                          const spirloom_submit_options* options,
                                                          spirloom_pending_run** run,
                                                          spirloom_error** error);

// From now on runs take input i from, or put output i into, `size` bytes at `offset` of a buffer of
// the application's, which must stay, by a copy on the device; what spirloom_model_input_bytes()
// and spirloom_model_output_bytes() hold then means nothing. VK_NULL_HANDLE ends it. The buffer was
// created on the runtime's device, with VK_BUFFER_USAGE_TRANSFER_SRC_BIT for an input and
// VK_BUFFER_USAGE_TRANSFER_DST_BIT for an output, and is exclusive to the runtime's queue family
// during a run, or concurrent. The copy sees what earlier submissions to the runtime's queue wrote,
// and later ones see what it writes; other queues need semaphores. Fail with
// SPIRLOOM_INVALID_ARGUMENT for a part that is smaller than the tensor, at the next run also when a
// resize made the tensor larger, and with SPIRLOOM_BUSY during a run.
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
