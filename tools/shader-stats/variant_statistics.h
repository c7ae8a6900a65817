// The driver's statistics of compiled variants.
#ifndef SPIRLOOM_TOOLS_SHADER_STATS_VARIANT_STATISTICS_H_
#define SPIRLOOM_TOOLS_SHADER_STATS_VARIANT_STATISTICS_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ops/op_index.h"
#include "runtime/vulkan/descriptors.h"
#include "runtime/vulkan/pipeline.h"
#include "spirloom/status.h"
#include "tools/shader-stats/statistics_device.h"

namespace spirloom::tools {

struct VariantStatistics {
  std::string op;       // "aten.add.Tensor"
  std::string kernel;   // "add"
  std::string variant;  // "add_f32_buffer"
  // Why it was not compiled: missing capabilities or the driver's error; empty: it was.
  std::string failure;
  // Whether the driver refused it. False for missing capabilities.
  bool refused = false;
  // In the driver's order, e.g. {"VGPRs", "24"}.
  std::vector<std::pair<std::string, std::string>> values;
};

// The pipeline of a variant with its own workgroup size and the default values of its
// specialization constants, except one that selects the kernel in a shared module. Refers to the
// pack.
vulkan::PipelineDesc DescOf(const pack::ShaderPack& pack, const ops::KernelInfo& kernel,
                            const pack::VariantRow& row);

// Compiles a pipeline and returns the driver's statistics, in its order. `desc.flags` is ignored.
Result<std::vector<std::pair<std::string, std::string>>> StatisticsOf(
    const StatisticsDevice& device, vulkan::LayoutCache& layouts, vulkan::PipelineDesc desc);

// Compiles the variants of the library with these names (empty: all) on all cores, with the default
// values of their specialization constants and their own workgroup sizes. Results are in the order
// of ops, kernels and variants.
Result<std::vector<VariantStatistics>> CompileVariants(const StatisticsDevice& device,
                                                       const ops::OpIndex& index,
                                                       const std::set<std::string>& names);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SHADER_STATS_VARIANT_STATISTICS_H_
