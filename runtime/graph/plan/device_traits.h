// Device properties that planning depends on.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_DEVICE_TRAITS_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_DEVICE_TRAITS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/ops/eval.h"
#include "runtime/ops/registry.h"
#include "runtime/pack/pack_format.h"

namespace spirloom::graph {

// Size limits of the images of texture tensors. All 0: the device does not support them.
struct TextureLimits {
  uint64_t width = 0;  // texels
  uint64_t height = 0;
  uint64_t depth = 0;  // slices, or layers of a 2-D image
  uint64_t bytes = 0;  // of one image
};

// Maximum bindings of one kernel, by kind and of all kinds together.
struct BindingLimits {
  uint32_t storage_buffers = 4;
  uint32_t sampled_images = 16;
  uint32_t storage_images = 4;
  uint32_t resources = 128;
};

// Plain data, independent of Vulkan: a graph can be planned for a device that is only described.
// TraitsOf() (runtime/graph/record/traits_of_device.h) returns those of an opened device. The
// defaults are the minimum limits that Vulkan requires.
struct DeviceTraits {
  uint64_t capabilities = 0;  // bit i: pack::Capability i
  ops::DeviceProperties properties;
  uint32_t vulkan_minor = 1;                      // the x of Vulkan 1.x
  uint64_t max_storage_buffer_range = 134217728;  // bytes
  uint64_t buffer_offset_alignment = 256;         // alignment of descriptor offsets
  TextureLimits texture3d{256, 256, 256, kMinImageBytes};
  TextureLimits texture2d{4096, 4096, 256, kMinImageBytes};
  std::array<uint64_t, 3> max_group_count{65535, 65535, 65535};
  std::array<uint32_t, 3> max_workgroup{128, 128, 64};
  uint32_t max_workgroup_invocations = 128;
  BindingLimits bindings;
  // Variants that must not be selected (runtime/session/quarantine.h).
  std::vector<const pack::VariantRow*> quarantined = {};
  // Minimum invocations per core for large workgroups: what a core runs at once.
  int64_t large_grid_per_core = kLargeGridPerCore;

 private:
  static constexpr int64_t kLargeGridPerCore = 992;
  static constexpr uint64_t kMinImageBytes = 1073741824;
};

// Extent in texels of a tensor in a texture: (W, H, N * ceil(C / 4)) of its shape padded to NCHW.
struct TextureExtent {
  uint64_t width;
  uint64_t height;
  uint64_t depth;
};

// Pads the shape on the left with ones to (N, C, H, W). `shape` has at most 4 dimensions.
std::array<int64_t, 4> PadToNchw(const ops::Ints& shape);

// `shape` has at most 4 dimensions.
TextureExtent TextureExtentOf(const ops::Ints& shape);

// Returns true if the tensor fits the texture type `storage` on the device: at most 4 dimensions,
// not empty, extents and size in bytes within the limits.
bool FitsTexture(const ops::TensorDesc& tensor, Storage storage, const DeviceTraits& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_DEVICE_TRAITS_H_
