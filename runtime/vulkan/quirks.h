// Known bugs and limits of drivers: the rows of spec_model/driver_quirks.inc that apply to a
// device.
#ifndef SPIRLOOM_RUNTIME_VULKAN_QUIRKS_H_
#define SPIRLOOM_RUNTIME_VULKAN_QUIRKS_H_

#include <cstdint>
#include <string_view>

#include "runtime/pack/device_properties.h"

namespace spirloom::vulkan {

// What a device and its driver report about themselves.
struct DriverIdentity {
  uint32_t vendor = 0;         // VkPhysicalDeviceProperties::vendorID
  uint32_t driver = 0;         // VkDriverId; 0: not reported
  std::string_view type = {};  // as in DeviceInfo
  uint32_t version = 0;        // VkPhysicalDeviceProperties::driverVersion
};

// The fields of the table.
struct Quirks {
  // Iterations after which the driver ends all loops of an invocation, without an error.
  int64_t max_loop_iterations = pack::DeviceProperties::kUnlimited;
  // Kernels read buffers faster as texels (software_device.h). 0 or 1.
  int64_t reads_texels = 0;
  // vkCmdDispatchBase can divide a dispatch. 0 or 1.
  int64_t divides_dispatches = 1;
  // Cooperative matrices are held as by `mma` instructions (pack::DeviceProperties). 0 or 1.
  int64_t quad_matrices = 0;
  // 32-bit values that an invocation can hold in registers (pack::DeviceProperties).
  int64_t registers = pack::DeviceProperties{}.registers;
};

// Returns the fields of the rows that match the device.
Quirks QuirksOf(const DriverIdentity& identity);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_QUIRKS_H_
