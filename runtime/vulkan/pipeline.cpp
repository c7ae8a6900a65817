#include "runtime/vulkan/pipeline.h"

#include <algorithm>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/pack/f16_rounding.h"
#include "runtime/pack/word_storage.h"
#include "runtime/vulkan/software_device.h"

namespace spirloom::vulkan {
namespace {

using ShaderModule = DeviceHandle<VkShaderModule, &DeviceFunctions::vkDestroyShaderModule>;

Result<ShaderModule> CreateShaderModule(const Device& device, std::span<const uint32_t> spirv) {
  VkShaderModuleCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = spirv.size_bytes();
  info.pCode = spirv.data();
  VkShaderModule handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(ToStatus(
      device.fn().vkCreateShaderModule(device.handle(), &info, device.allocator(), &handle),
      "vkCreateShaderModule"));
  return ShaderModule(device, handle);
}

// The values of specialization constants 0, 1, 2, … and their map entries.
struct Specialization {
  explicit Specialization(const PipelineDesc& desc)
      : values(desc.workgroup.begin(), desc.workgroup.end()) {
    values.insert(values.end(), desc.constants.begin(), desc.constants.end());
    for (uint32_t id = 0; id < values.size(); ++id) entries.push_back({id, 4 * id, 4});
    info = {.mapEntryCount = static_cast<uint32_t>(entries.size()),
            .pMapEntries = entries.data(),
            .dataSize = 4 * values.size(),
            .pData = values.data()};
  }
  Specialization(const Specialization&) = delete;
  Specialization& operator=(const Specialization&) = delete;

  std::vector<uint32_t> values;
  std::vector<VkSpecializationMapEntry> entries;
  VkSpecializationInfo info{};
};

Status CheckWorkgroup(const Device& device, const PipelineDesc& desc) {
  const VkPhysicalDeviceLimits& limits = device.limits();
  uint64_t product = 1;
  for (size_t i = 0; i < 3; ++i) {
    product *= desc.workgroup[i];
    if (desc.workgroup[i] >= 1 && desc.workgroup[i] <= limits.maxComputeWorkGroupSize[i] &&
        product <= limits.maxComputeWorkGroupInvocations) {
      continue;
    }
    return Error(
        StatusCode::kUnsupported,
        "The workgroup {} x {} x {} is outside the device's limits ({} x {} x {}, {} invocations).",
        desc.workgroup[0], desc.workgroup[1], desc.workgroup[2], limits.maxComputeWorkGroupSize[0],
        limits.maxComputeWorkGroupSize[1], limits.maxComputeWorkGroupSize[2],
        limits.maxComputeWorkGroupInvocations);
  }
  const uint64_t subgroups = device.physical().max_workgroup_subgroups;
  if (desc.subgroup_size == 0 || product <= desc.subgroup_size * subgroups) return {};
  return Error(StatusCode::kUnsupported,
               "The workgroup of {} invocations has more subgroups of {} than the device allows "
               "(maxComputeWorkgroupSubgroups: {}).",
               product, desc.subgroup_size, subgroups);
}

}  // namespace

Result<ComputePipeline> ComputePipeline::Create(const Device& device, LayoutCache& layouts,
                                                VkPipelineCache cache, const PipelineDesc& desc) {
  SPIRLOOM_TRY(CheckWorkgroup(device, desc));
  ComputePipeline pipeline;
  SPIRLOOM_TRY_ASSIGN(std::vector<uint32_t> spirv, pack::ReadModule(desc.module, desc.bindings));
  SPIRLOOM_TRY(pack::StoreInWords(spirv, ~device.physical().capabilities));
  pack::RoundToNearestF16(spirv, device.physical().f16_rounding);
  pipeline.bindings_ =
      BindingsFor(device, spirv, pack::RemoveAbsentBindings(spirv, desc.bindings, desc.absent));
  SPIRLOOM_TRY_ASSIGN(pipeline.layout_, layouts.Get(pipeline.bindings_, desc.push_bytes));
  SPIRLOOM_TRY_ASSIGN(ShaderModule module, CreateShaderModule(device, spirv));
  const Specialization specialization(desc);
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.flags = desc.flags;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module.get();
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &specialization.info;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroups{};
  if (desc.subgroup_size != 0) {
    subgroups.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    subgroups.requiredSubgroupSize = desc.subgroup_size;
    info.stage.pNext = &subgroups;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  info.layout = pipeline.layout_.pipeline;
  VkPipeline handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(ToStatus(device.fn().vkCreateComputePipelines(device.handle(), cache,
                                                             /*createInfoCount=*/1, &info,
                                                             device.allocator(), &handle),
                        "vkCreateComputePipelines"));
  pipeline.handle_ = {device, handle};
  device.counters().pipelines.fetch_add(1);
  device.SetName(VK_OBJECT_TYPE_PIPELINE, handle, desc.name);
  return pipeline;
}

Result<std::vector<ComputePipeline>> CreatePipelines(const Device& device, LayoutCache& layouts,
                                                     VkPipelineCache cache,
                                                     std::span<const PipelineDesc> descs,
                                                     const PipelineDesc** failed) {
  std::vector<std::optional<Result<ComputePipeline>>> results(descs.size());
  SPIRLOOM_TRY(device.host().ParallelFor(descs.size(), [&](size_t i) {
    results[i].emplace(ComputePipeline::Create(device, layouts, cache, descs[i]));
    return Status();  // errors are evaluated in order below
  }));
  std::vector<ComputePipeline> pipelines;
  pipelines.reserve(descs.size());
  for (size_t i = 0; i < descs.size(); ++i) {
    if (!results[i]->ok()) {
      const StatusCode code = results[i]->status().code();
      const bool compiler = code == StatusCode::kInternal || code == StatusCode::kUnsupported;
      if (failed != nullptr && compiler) *failed = &descs[i];
      return While(results[i]->status(), "creating the pipeline of {}", descs[i].name);
    }
    pipelines.push_back(std::move(*results[i]).value());
  }
  return pipelines;
}

}  // namespace spirloom::vulkan
