#ifndef SPIRLOOM_TOOLS_SPIRLOOM_OPS_DEVICE_FILE_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_OPS_DEVICE_FILE_H_

#include <string>
#include <vector>

#include "runtime/graph/plan/device_traits.h"
#include "spirloom/status.h"

namespace spirloom::tools {

struct DescribedDevice {
  std::string name;
  graph::DeviceTraits traits;
};

// Reads descriptions of devices: a JSON list of objects with the keys name, vulkan_minor,
// capabilities (names), properties (name → number), max_storage_buffer_range,
// max_storage_buffers, max_sampled_images, max_storage_images and max_resources (bindings of a
// kernel), and max_group_count, max_workgroup, texture3d and texture2d (three numbers each). Absent
// keys have the values that every Vulkan device guarantees; the capabilities of shared memory
// follow from its size. Fails with kInvalidFile and the device and key.
Result<std::vector<DescribedDevice>> ReadDevices(const std::string& path);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_DEVICE_FILE_H_
