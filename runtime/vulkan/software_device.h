// All that the runtime does for devices that are software, such as Mesa's llvmpipe, and for no
// others: it binds buffers that kernels only read as texel buffers, in modules rewritten for that,
// and gives them sizes that look alike to the driver. Results are the same bits. What the compiler
// does for such devices is in compiler/software_device.h.
#ifndef SPIRLOOM_RUNTIME_VULKAN_SOFTWARE_DEVICE_H_
#define SPIRLOOM_RUNTIME_VULKAN_SOFTWARE_DEVICE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/pack/pack_format.h"
#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Whether kernels should read buffers as texels: software devices load from storage buffers one
// lane at a time, but fetch texels for all lanes at once.
bool PrefersTexels(const Device& device);

// What a buffer that is to hold `size` bytes takes on this device: `size`, or up to 768 bytes more.
VkDeviceSize BufferSizeFor(const Device& device, VkDeviceSize size);

// How many bytes a view of texels of a whole tensor of `size` bytes shows, of `available` ones.
VkDeviceSize TexelViewSize(VkDeviceSize size, VkDeviceSize available);

// The bindings to make a pipeline of `module` with: `bindings`, or, where the device prefers
// texels, those of the module after its reads of buffers became fetches
// (runtime/pack/texel_reads.h).
std::vector<pack::BindingType> BindingsFor(const Device& device, std::vector<uint32_t>& module,
                                           std::span<const pack::BindingType> bindings);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_SOFTWARE_DEVICE_H_
