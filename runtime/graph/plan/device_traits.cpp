#include "runtime/graph/plan/device_traits.h"

#include <algorithm>

namespace spirloom::graph {

DeviceTraits DeviceTraits::Of(const vulkan::Device& device) {
  const VkPhysicalDeviceLimits& limits = device.limits();
  DeviceTraits traits;
  traits.capabilities = device.capabilities();
  traits.properties = device.physical().kernel_properties;
  traits.vulkan_minor = device.physical().vulkan_minor();
  traits.max_storage_buffer_range = limits.maxStorageBufferRange;
  traits.buffer_offset_alignment =
      std::max({limits.minStorageBufferOffsetAlignment, limits.minTexelBufferOffsetAlignment,
                VkDeviceSize{16}});
  traits.texture3d = device.physical().texture3d;
  traits.texture2d = device.physical().texture2d;
  for (vulkan::TextureLimits* texture : {&traits.texture3d, &traits.texture2d}) {
    texture->bytes = std::min(texture->bytes, device.physical().max_memory_allocation_size);
  }
  for (size_t i = 0; i < 3; ++i) {
    traits.max_group_count[i] = limits.maxComputeWorkGroupCount[i];
    traits.max_workgroup[i] = limits.maxComputeWorkGroupSize[i];
  }
  traits.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  return traits;
}

std::array<int64_t, 4> PadToNchw(const ops::Ints& shape) {
  std::array<int64_t, 4> nchw{1, 1, 1, 1};
  const size_t skipped = nchw.size() - std::min(nchw.size(), shape.size());
  for (size_t i = skipped; i < nchw.size(); ++i) nchw[i] = shape[i - skipped];
  return nchw;
}

TextureExtent TextureExtentOf(const ops::Ints& shape) {
  const std::array<int64_t, 4> nchw = PadToNchw(shape);
  return {static_cast<uint64_t>(nchw[3]), static_cast<uint64_t>(nchw[2]),
          static_cast<uint64_t>(nchw[0]) * ((static_cast<uint64_t>(nchw[1]) + 3) / 4)};
}

bool FitsTexture(const ops::TensorDesc& tensor, Storage storage, const DeviceTraits& device) {
  if (tensor.shape.size() > 4) return false;
  const vulkan::TextureLimits& limits =
      storage == Storage::kTexture2D ? device.texture2d : device.texture3d;
  const TextureExtent extent = TextureExtentOf(tensor.shape);
  const auto fits = [](uint64_t texels, uint64_t limit) { return texels > 0 && texels <= limit; };
  if (!fits(extent.width, limits.width) || !fits(extent.height, limits.height) ||
      !fits(extent.depth, limits.depth)) {
    return false;
  }
  const uint64_t texel = 4 * ElementSize(tensor.dtype);
  return extent.width * extent.height * extent.depth <= limits.bytes / texel;
}

}  // namespace spirloom::graph
