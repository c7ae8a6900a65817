#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_PIPELINE_POOL_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_PIPELINE_POOL_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/graph/record/pipeline_key.h"
#include "spirloom/status.h"

namespace spirloom::graph {

using SharedPipeline = std::shared_ptr<const vulkan::ComputePipeline>;

// Finds pipelines that a model has already. Owns none: they live as long as somebody uses them.
class PipelinePool {
 public:
  // The pipelines of `descs`, in their order; those that are not there are created on all cores.
  Result<std::vector<SharedPipeline>> Get(const vulkan::Device& device,
                                          vulkan::LayoutCache& layouts, VkPipelineCache cache,
                                          std::span<const vulkan::PipelineDesc> descs);

  // How many it knows, those included that went since the last call.
  size_t size() const { return pipelines_.size(); }

 private:
  std::map<PipelineKey, std::weak_ptr<const vulkan::ComputePipeline>> pipelines_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_PIPELINE_POOL_H_
