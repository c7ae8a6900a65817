#ifndef SPIRLOOM_RUNTIME_VULKAN_PIPELINE_H_
#define SPIRLOOM_RUNTIME_VULKAN_PIPELINE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/pack/stored_module.h"
#include "runtime/vulkan/descriptors.h"
#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// What a compute pipeline is made from. `module` and `bindings` are referred to, not copied; images
// have the dimensions that `bindings` say, whatever `module` does.
struct PipelineDesc {
  std::string name;  // for messages and debuggers: the variant id
  pack::StoredModule module = {};
  std::span<const pack::BindingType> bindings = {};
  uint32_t push_bytes = 0;
  std::array<uint32_t, 3> workgroup{1, 1, 1};  // specialisation constants 0, 1, 2
  std::vector<uint32_t> constants = {};        // specialisation constants 3, 4, …: their bits
  uint32_t subgroup_size = 0;  // that of all subgroups, each full; 0: whatever the driver takes
};

// A VkPipeline. Its layout belongs to the LayoutCache it was made with, which must outlive it.
class ComputePipeline {
 public:
  static Result<ComputePipeline> Create(const Device& device, LayoutCache& layouts,
                                        VkPipelineCache cache, const PipelineDesc& desc);

  VkPipeline handle() const { return handle_.get(); }
  const BindingLayout& layout() const { return layout_; }
  // What to bind: the desc's bindings, or texels of them on a device that prefers those.
  std::span<const pack::BindingType> bindings() const { return bindings_; }

 private:
  ComputePipeline() = default;
  DeviceHandle<VkPipeline, &DeviceFunctions::vkDestroyPipeline> handle_;
  BindingLayout layout_;
  std::vector<pack::BindingType> bindings_;
};

// Creates pipelines on all cores; result i is from descs[i]. The error is that of the first in
// order that fails.
Result<std::vector<ComputePipeline>> CreatePipelines(const Device& device, LayoutCache& layouts,
                                                     VkPipelineCache cache,
                                                     std::span<const PipelineDesc> descs);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_PIPELINE_H_
