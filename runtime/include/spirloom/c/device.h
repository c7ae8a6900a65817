// The devices of this machine in the C API. Part of spirloom.h, which documents the conventions.
#ifndef SPIRLOOM_C_DEVICE_H_
#define SPIRLOOM_C_DEVICE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spirloom/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Devices -----------------------------------------------------------------------------------

// True if this machine has a Vulkan loader and a device with Vulkan 1.1 and a compute queue.
SPIRLOOM_C_API bool spirloom_is_available(void);

// A property of a device that selects kernels.
typedef struct spirloom_device_property {
  const char* name;  // e.g. "cores"
  int64_t value;
} spirloom_device_property;

// Properties of a device. Sizes in bytes. Pointers are valid as long as the object that was
// queried.
typedef struct spirloom_device_info {
  size_t struct_size;
  const char* name;
  const char* type;         // "discrete", "integrated", "cpu", "virtual" or "other"
  const char* api_version;  // e.g. "1.3.230"
  const char* driver;       // name and version, or only the version
  // Identifiers of the device, accepted by spirloom_runtime_options.device; "" if the device does
  // not report one.
  const char* uuid;             // "uuid:" and 32 hexadecimal digits; the same in every process
  const char* luid;             // "luid:" and 16 digits: the adapter LUID of D3D and DXGI (Windows)
  const char* pci;              // "pci:0000:01:00.0": domain, bus, device and function
  const char* const* features;  // e.g. "storage_buffer_16bit"
  size_t feature_count;
  bool usable;             // false: below Vulkan 1.1 or without a compute queue
  uint64_t device_memory;  // the largest device-local heap
  uint64_t max_storage_buffer_range;
  uint32_t max_image_dimension_3d;
  uint32_t subgroup_size;  // invocations
  // VK_MAKE_API_VERSION(), the vendor's encoding of the version, and PCI ids.
  uint32_t api_version_number;
  uint32_t driver_version_number;
  uint32_t vendor_id;
  uint32_t device_id;
  uint32_t driver_id;  // VkDriverId; 0: not reported
  // Loop iterations of an invocation after which the driver ends its loops; 0: no limit. Kernels
  // are selected accordingly.
  uint64_t max_loop_iterations;
  // The properties that select kernels, by their names in op specs, e.g. "cores". Bools are 0 or 1.
  const spirloom_device_property* properties;
  size_t property_count;
} spirloom_device_info;

// A snapshot of the devices of this machine.
typedef struct spirloom_devices spirloom_devices;

// Lists the devices; their order defines the index in spirloom_runtime_options.device. Fails with
// SPIRLOOM_UNAVAILABLE without a Vulkan loader.
SPIRLOOM_C_API spirloom_status spirloom_devices_list(spirloom_devices** devices,
                                                     spirloom_error** error);
SPIRLOOM_C_API void spirloom_devices_destroy(spirloom_devices* devices);
SPIRLOOM_C_API size_t spirloom_devices_count(const spirloom_devices* devices);
// Fills `info`.
SPIRLOOM_C_API spirloom_status spirloom_devices_get(const spirloom_devices* devices, size_t i,
                                                    spirloom_device_info* info,
                                                    spirloom_error** error);

// All features that spirloom_device_info.features can contain. A device lacks those that it does
// not list.
SPIRLOOM_C_API size_t spirloom_known_feature_count(void);
// E.g. "storage_buffer_16bit". Valid as long as the program.
SPIRLOOM_C_API const char* spirloom_known_feature(size_t i);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_C_DEVICE_H_
