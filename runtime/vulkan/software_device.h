// Optimizations for software devices such as Mesa's llvmpipe: buffers that kernels only read are
// bound as texel buffers, with rewritten modules, and get sizes for which the driver reuses
// compiled shaders. Results are bit-identical. compiler/spirv/software_device.h contains those of
// the compiler.
#ifndef SPIRLOOM_RUNTIME_VULKAN_SOFTWARE_DEVICE_H_
#define SPIRLOOM_RUNTIME_VULKAN_SOFTWARE_DEVICE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/pack/pack_format.h"
#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Whether kernels read buffers as texels: software devices load from storage buffers one lane at a
// time, but fetch texels for all lanes at once.
bool PrefersTexels(const Device& device);

// The size of a VkBuffer for `size` bytes: `size`, or on software devices up to 768 bytes more.
VkDeviceSize BufferSizeFor(const Device& device, VkDeviceSize size);

// The size of a texel view of a whole tensor of `size` bytes in a buffer with `available` bytes.
VkDeviceSize TexelViewSize(VkDeviceSize size, VkDeviceSize available);

// The bindings for a pipeline of `module`. On devices that prefer texels, rewrites the module to
// fetch texels (runtime/pack/texel_reads.h) and returns its new bindings; otherwise `bindings`.
std::vector<pack::BindingType> BindingsFor(const Device& device, std::vector<uint32_t>& module,
                                           std::span<const pack::BindingType> bindings);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_SOFTWARE_DEVICE_H_
