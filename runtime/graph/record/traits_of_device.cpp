#include "runtime/graph/record/traits_of_device.h"

#include <algorithm>

namespace spirloom::graph {
namespace {

TextureLimits LimitsOf(const vulkan::TextureLimits& limits, uint64_t max_bytes) {
  return {limits.width, limits.height, limits.depth, std::min(limits.bytes, max_bytes)};
}

// A kernel's bindings are one set, which one stage uses.
BindingLimits BindingsOf(const VkPhysicalDeviceLimits& limits) {
  return {
      .storage_buffers = std::min(limits.maxPerStageDescriptorStorageBuffers,
                                  limits.maxDescriptorSetStorageBuffers),
      .sampled_images =
          std::min(limits.maxPerStageDescriptorSampledImages, limits.maxDescriptorSetSampledImages),
      .storage_images =
          std::min(limits.maxPerStageDescriptorStorageImages, limits.maxDescriptorSetStorageImages),
      .resources = limits.maxPerStageResources,
  };
}

}  // namespace

DeviceTraits TraitsOf(const vulkan::Device& device) {
  const vulkan::PhysicalDevice& physical = device.physical();
  const VkPhysicalDeviceLimits& limits = device.limits();
  DeviceTraits traits;
  traits.capabilities = device.capabilities();
  traits.properties = physical.kernel_properties;
  traits.vulkan_minor = physical.vulkan_minor();
  traits.max_storage_buffer_range = limits.maxStorageBufferRange;
  traits.buffer_offset_alignment =
      std::max({limits.minStorageBufferOffsetAlignment, limits.minTexelBufferOffsetAlignment,
                VkDeviceSize{16}});
  traits.texture3d = LimitsOf(physical.texture3d, physical.max_memory_allocation_size);
  traits.texture2d = LimitsOf(physical.texture2d, physical.max_memory_allocation_size);
  for (size_t i = 0; i < 3; ++i) {
    traits.max_group_count[i] = limits.maxComputeWorkGroupCount[i];
    traits.max_workgroup[i] = limits.maxComputeWorkGroupSize[i];
  }
  traits.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  traits.bindings = BindingsOf(limits);
  return traits;
}

}  // namespace spirloom::graph
