#include "runtime/vulkan/software_device.h"

#include <algorithm>

#include "runtime/pack/texel_reads.h"

namespace spirloom::vulkan {
namespace {

constexpr VkDeviceSize kStep = 512;
constexpr VkDeviceSize kOffset = 256;
constexpr VkDeviceSize kMaxPadding = kStep + kOffset;

// Rounds up to an odd multiple of 256. llvmpipe compiles a separate shader for each combination of
// two properties of the texel buffers: whether the size of a buffer is a power of two, and whether
// bits 8 to 15 of the size of a view are zero (they are interpreted as a count of mip levels). Both
// are the same for all returned sizes. This reduces the 23 compilations of mobilenet_v2 to 14.
VkDeviceSize PaddedSize(VkDeviceSize size) { return (size + kStep - 1) / kStep * kStep + kOffset; }

}  // namespace

bool PrefersTexels(const Device& device) {
  const VkPhysicalDeviceLimits& limits = device.limits();
  // Texel views of single components must cover the largest storage buffer.
  return device.physical().quirks.reads_texels != 0 &&
         uint64_t{limits.maxTexelBufferElements} * 4 >=
             uint64_t{limits.maxStorageBufferRange} + kMaxPadding;
}

VkDeviceSize BufferSizeFor(const Device& device, VkDeviceSize size) {
  return PrefersTexels(device) ? PaddedSize(size) : size;
}

VkDeviceSize TexelViewSize(VkDeviceSize size, VkDeviceSize available) {
  return std::min(PaddedSize(size), available);
}

std::vector<pack::BindingType> BindingsFor(const Device& device, std::vector<uint32_t>& module,
                                           std::span<const pack::BindingType> bindings) {
  if (PrefersTexels(device)) return pack::ReadAsTexels(module, bindings);
  return {bindings.begin(), bindings.end()};
}

}  // namespace spirloom::vulkan
