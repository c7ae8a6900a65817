#ifndef SPIRLOOM_RUNTIME_VULKAN_PIPELINE_H_
#define SPIRLOOM_RUNTIME_VULKAN_PIPELINE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/pack/absent_bindings.h"
#include "runtime/pack/stored_module.h"
#include "runtime/vulkan/descriptors.h"
#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// Description of a compute pipeline. `module` and `bindings` are referenced, not copied. `bindings`
// determines the dimensions of images, instead of `module`.
struct PipelineDesc {
  std::string name;  // for messages and debuggers: the variant id
  pack::StoredModule module = {};
  std::span<const pack::BindingType> bindings = {};
  pack::BindingSet absent = 0;  // bindings of absent operands, which get no descriptor
  uint32_t push_bytes = 0;
  std::array<uint32_t, 3> workgroup{1, 1, 1};  // specialization constants 0, 1, 2
  std::vector<uint32_t> constants = {};        // bits of specialization constants 3, 4, …
  uint32_t subgroup_size = 0;  // required size of full subgroups; 0: the driver's default
  VkPipelineCreateFlags flags = 0;
};

// A VkPipeline. Its layout belongs to the LayoutCache, which must outlive it.
class ComputePipeline {
 public:
  static Result<ComputePipeline> Create(const Device& device, LayoutCache& layouts,
                                        VkPipelineCache cache, const PipelineDesc& desc);

  VkPipeline handle() const { return handle_.get(); }
  const BindingLayout& layout() const { return layout_; }
  // The descriptor types: those of the desc, absent bindings, or texel buffers on software devices.
  std::span<const pack::BindingType> bindings() const { return bindings_; }

 private:
  ComputePipeline() = default;
  DeviceHandle<VkPipeline, &DeviceFunctions::vkDestroyPipeline> handle_;
  BindingLayout layout_;
  std::vector<pack::BindingType> bindings_;
};

// Creates pipelines on all cores; result i is of descs[i]. Returns the error of the first desc in
// order that fails. If it is of the driver's compiler, and not lack of memory or a lost device,
// `failed` (may be null) is that desc.
Result<std::vector<ComputePipeline>> CreatePipelines(const Device& device, LayoutCache& layouts,
                                                     VkPipelineCache cache,
                                                     std::span<const PipelineDesc> descs,
                                                     const PipelineDesc** failed = nullptr);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_PIPELINE_H_
