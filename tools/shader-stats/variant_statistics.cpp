#include "tools/shader-stats/variant_statistics.h"

#include <cstdio>
#include <span>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/pack/capability.h"
#include "runtime/pack/image_types.h"

namespace spirloom::tools {
namespace {

std::string ValueOf(const VkPipelineExecutableStatisticKHR& statistic) {
  char text[32];
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return statistic.value.b32 != VK_FALSE ? "1" : "0";
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return std::to_string(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return std::to_string(statistic.value.u64);
    default:
      std::snprintf(text, sizeof text, "%.6g", statistic.value.f64);
      return text;
  }
}

// The statistics of a compute pipeline, which has one executable.
Result<std::vector<std::pair<std::string, std::string>>> Query(const StatisticsDevice& device,
                                                               VkPipeline pipeline) {
  const VkDevice handle = device.device().handle();
  VkPipelineInfoKHR info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR;
  info.pipeline = pipeline;
  uint32_t count = 0;
  SPIRLOOM_TRY(
      vulkan::ToStatus(device.executables()(handle, &info, &count, /*pProperties=*/nullptr),
                       "vkGetPipelineExecutablePropertiesKHR"));
  if (count != 1)
    return Error(StatusCode::kInternal, "The pipeline has {} executables, not 1.", count);
  VkPipelineExecutableInfoKHR executable{};
  executable.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
  executable.pipeline = pipeline;
  SPIRLOOM_TRY(
      vulkan::ToStatus(device.statistics()(handle, &executable, &count, /*pStatistics=*/nullptr),
                       "vkGetPipelineExecutableStatisticsKHR"));
  VkPipelineExecutableStatisticKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  std::vector<VkPipelineExecutableStatisticKHR> statistics(count, empty);
  SPIRLOOM_TRY(vulkan::ToStatus(device.statistics()(handle, &executable, &count, statistics.data()),
                                "vkGetPipelineExecutableStatisticsKHR"));
  std::vector<std::pair<std::string, std::string>> values;
  for (const VkPipelineExecutableStatisticKHR& statistic : statistics)
    values.emplace_back(statistic.name, ValueOf(statistic));
  return values;
}

// The first specialization constant if it does not depend on a call: it selects the functions of
// the kernel in a module that kernels share. Its value is 0 or more and takes a byte.
std::vector<uint32_t> SelectorOf(const ops::KernelInfo& kernel) {
  if (kernel.constants.empty()) return {};
  const ops::Formula value = kernel.constants.front().value;
  if (value.size() != 2 || value[0] != std::byte{static_cast<uint8_t>(ops::Opcode::kInt)})
    return {};
  return {std::to_integer<uint32_t>(value[1]) / 2};  // zigzag
}

// A variant to compile.
struct Job {
  const pack::ShaderPack* pack;
  const ops::KernelInfo* kernel;
  const pack::VariantRow* row;
};

}  // namespace

vulkan::PipelineDesc DescOf(const pack::ShaderPack& pack, const ops::KernelInfo& kernel,
                            const pack::VariantRow& row) {
  vulkan::PipelineDesc desc;
  desc.name = std::string(pack.Name(row));
  desc.module = pack.Module(row);
  desc.bindings = pack::BindingTypesOf(row);
  desc.push_bytes = row.push_bytes;
  desc.workgroup = {row.workgroup[0], row.workgroup[1], row.workgroup[2]};
  desc.constants = SelectorOf(kernel);
  return desc;
}

Result<std::vector<std::pair<std::string, std::string>>> StatisticsOf(
    const StatisticsDevice& device, vulkan::LayoutCache& layouts, vulkan::PipelineDesc desc) {
  desc.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  SPIRLOOM_TRY_ASSIGN(const vulkan::ComputePipeline pipeline,
                      vulkan::ComputePipeline::Create(device.device(), layouts,
                                                      /*cache=*/VK_NULL_HANDLE, desc));
  return Query(device, pipeline.handle());
}

Result<std::vector<VariantStatistics>> CompileVariants(const StatisticsDevice& device,
                                                       const ops::OpIndex& index,
                                                       const std::set<std::string>& names) {
  std::vector<Job> jobs;
  std::vector<VariantStatistics> results;
  for (const ops::OpEntry& entry : index.ops()) {
    const pack::ShaderPack& pack = index.libraries()[entry.library].pack;
    for (const ops::KernelInfo& kernel : entry.op->kernels) {
      for (const pack::VariantRow& row : index.VariantsOf(entry, kernel)) {
        std::string name(pack.Name(row));
        if (!names.empty() && !names.contains(name)) continue;
        jobs.push_back({&pack, &kernel, &row});
        VariantStatistics& result = results.emplace_back();
        result.op = entry.op->name;
        result.kernel = kernel.name;
        result.variant = std::move(name);
      }
    }
  }
  const uint64_t capabilities = device.device().capabilities();
  vulkan::LayoutCache layouts(device.device());
  SPIRLOOM_TRY(device.device().host().ParallelFor(jobs.size(), [&](size_t i) {
    const uint64_t missing = pack::LackingCapabilities(jobs[i].row->needs, capabilities);
    if (missing != 0) {
      results[i].failure = "without";
      for (const std::string& name : pack::CapabilityNames(missing))
        results[i].failure += ' ' + name;
      return Status();
    }
    auto values =
        StatisticsOf(device, layouts, DescOf(*jobs[i].pack, *jobs[i].kernel, *jobs[i].row));
    if (values.ok()) {
      results[i].values = std::move(*values);
    } else {
      results[i].failure = values.status().message();
      results[i].refused = true;
    }
    return Status();
  }));
  return results;
}

}  // namespace spirloom::tools
