#include "runtime/graph/record/pipeline_pool.h"

#include <cassert>
#include <utility>

namespace spirloom::graph {

Result<std::vector<SharedPipeline>> PipelinePool::Get(const vulkan::Device& device,
                                                      vulkan::LayoutCache& layouts,
                                                      VkPipelineCache cache,
                                                      std::span<const vulkan::PipelineDesc> descs,
                                                      std::string* failed) {
  const std::scoped_lock lock(mutex_);
  std::vector<SharedPipeline> pipelines(descs.size());
  std::vector<vulkan::PipelineDesc> missing;
  for (size_t i = 0; i < descs.size(); ++i) {
    pipelines[i] = pipelines_[KeyOf(descs[i])].lock();
    if (pipelines[i] == nullptr) missing.push_back(vulkan::PipelineDesc(descs[i]));
  }
  const vulkan::PipelineDesc* uncompiled = nullptr;
  auto result = vulkan::CreatePipelines(device, layouts, cache, missing, &uncompiled);
  if (failed != nullptr && uncompiled != nullptr) *failed = uncompiled->name;
  SPIRLOOM_TRY_ASSIGN(std::vector<vulkan::ComputePipeline> created, std::move(result));
  std::erase_if(pipelines_, [](const auto& entry) { return entry.second.expired(); });
  size_t next = 0;
  for (size_t i = 0; i < descs.size(); ++i) {
    if (pipelines[i] != nullptr) continue;
    pipelines[i] = std::make_shared<const vulkan::ComputePipeline>(std::move(created[next++]));
    pipelines_[KeyOf(descs[i])] = pipelines[i];
  }
  assert(next == created.size());
  return pipelines;
}

}  // namespace spirloom::graph
