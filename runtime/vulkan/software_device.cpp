#include "runtime/vulkan/software_device.h"

#include <algorithm>

#include "runtime/pack/texel_reads.h"

namespace spirloom::vulkan {
namespace {

constexpr VkDeviceSize kStep = 512;
constexpr VkDeviceSize kOffset = 256;
constexpr VkDeviceSize kMostSlack = kStep + kOffset;

// The next odd multiple of 256 over 256. Mesa's llvmpipe compiles a shader anew for each
// combination of what it asks of the texel buffers it reads: whether a buffer's size is a power of
// two, and whether bits 8 to 15 of a view's are zero (it takes them for a count of mip levels). To
// it, all sizes that this gives are alike: mobilenet_v2's 14 pipelines were 23 compilations.
VkDeviceSize AlikeSize(VkDeviceSize size) { return (size + kStep - 1) / kStep * kStep + kOffset; }

}  // namespace

bool PrefersTexels(const Device& device) {
  const VkPhysicalDeviceLimits& limits = device.limits();
  // Views of single numbers must reach as far as storage buffers do.
  return device.physical().properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
         uint64_t{limits.maxTexelBufferElements} * 4 >=
             uint64_t{limits.maxStorageBufferRange} + kMostSlack;
}

VkDeviceSize BufferSizeFor(const Device& device, VkDeviceSize size) {
  return PrefersTexels(device) ? AlikeSize(size) : size;
}

VkDeviceSize TexelViewSize(VkDeviceSize size, VkDeviceSize available) {
  return std::min(AlikeSize(size), available);
}

std::vector<pack::BindingType> BindingsFor(const Device& device, std::vector<uint32_t>& module,
                                           std::span<const pack::BindingType> bindings) {
  if (PrefersTexels(device)) return pack::ReadAsTexels(module, bindings);
  return {bindings.begin(), bindings.end()};
}

}  // namespace spirloom::vulkan
