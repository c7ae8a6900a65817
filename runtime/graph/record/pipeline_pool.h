#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_PIPELINE_POOL_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_PIPELINE_POOL_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/record/pipeline_key.h"
#include "spirloom/status.h"

namespace spirloom::graph {

using SharedPipeline = std::shared_ptr<const vulkan::ComputePipeline>;

// Finds existing pipelines. Holds weak references: a pipeline is destroyed with its last user.
// Thread-safe.
class PipelinePool {
 public:
  // Returns the pipelines of `descs`, in order. Missing ones are created in parallel. After a
  // failure of the driver's compiler, `failed` (may be null) is the name of the pipeline.
  Result<std::vector<SharedPipeline>> Get(const vulkan::Device& device,
                                          vulkan::LayoutCache& layouts, VkPipelineCache cache,
                                          std::span<const vulkan::PipelineDesc> descs,
                                          std::string* failed = nullptr);

  // Number of entries, including pipelines destroyed since the last Get().
  size_t size() const { return pipelines_.size(); }

 private:
  std::mutex mutex_;
  std::map<PipelineKey, std::weak_ptr<const vulkan::ComputePipeline>> pipelines_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_PIPELINE_POOL_H_
