// What planning needs to know of a device.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_DEVICE_TRAITS_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_DEVICE_TRAITS_H_

#include <array>
#include <cstdint>

#include "runtime/ops/eval.h"
#include "runtime/ops/registry.h"
#include "runtime/vulkan/device.h"

namespace spirloom::graph {

// A value, so that tests can plan for devices that they do not have. The defaults are the least
// that Vulkan allows.
struct DeviceTraits {
  uint64_t capabilities = 0;  // bit i: pack::Capability i
  ops::DeviceFacts facts;
  uint32_t vulkan_minor = 1;                      // the x of Vulkan 1.x
  uint64_t max_storage_buffer_range = 134217728;  // bytes
  uint64_t buffer_offset_alignment = 256;         // of the first byte that is bound
  vulkan::TextureLimits texture3d{256, 256, 256, kLeastImageBytes};
  vulkan::TextureLimits texture2d{4096, 4096, 256, kLeastImageBytes};
  std::array<uint64_t, 3> max_group_count{65535, 65535, 65535};
  std::array<uint32_t, 3> max_workgroup{128, 128, 64};
  uint32_t max_workgroup_invocations = 128;
  int64_t long_grid = kLongGrid;  // invocations from which on long workgroups are worth it

  static DeviceTraits Of(const vulkan::Device& device);

 private:
  static constexpr int64_t kLongGrid = 1 << 17;
  static constexpr uint64_t kLeastImageBytes = 1073741824;
};

// The texels of a tensor in a texture: (W, H, N * ceil(C / 4)) of its shape padded to NCHW.
struct TextureExtent {
  uint64_t width;
  uint64_t height;
  uint64_t depth;
};

// The shape padded on the left with ones to (N, C, H, W). `shape` has at most 4 dimensions.
std::array<int64_t, 4> PadToNchw(const ops::Ints& shape);

// `shape` has at most 4 dimensions.
TextureExtent TextureExtentOf(const ops::Ints& shape);

// Whether the texture `storage` can hold the tensor on the device: at most 4 dimensions, none
// empty, and neither an extent nor the whole too large.
bool FitsTexture(const ops::TensorDesc& tensor, Storage storage, const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_DEVICE_TRAITS_H_
