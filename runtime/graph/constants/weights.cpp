#include "runtime/graph/constants/weights.h"

#include "runtime/graph/constants/weight_uploader.h"

namespace spirloom::graph {

Weights::Weights(const vulkan::Device& device, std::shared_ptr<MemoryBudget> budget,
                 const GraphSource& source, bool is_direct, TensorWatch* watch,
                 vulkan::Buffer dummy)
    : device_(device),
      budget_(std::move(budget)),
      is_direct_(is_direct),
      watch_(watch),
      dummy_(std::move(dummy)),
      source_(source) {}

Result<std::unique_ptr<Weights>> Weights::Create(const vulkan::Device& device,
                                                 std::shared_ptr<MemoryBudget> budget,
                                                 const GraphSource& source, bool is_direct,
                                                 TensorWatch* watch) {
  SPIRLOOM_TRY_ASSIGN(vulkan::Buffer dummy,
                      vulkan::Buffer::Create(device, /*size=*/256, vulkan::MemoryUse::kDevice));
  return std::unique_ptr<Weights>(
      new Weights(device, std::move(budget), source, is_direct, watch, std::move(dummy)));
}

Result<WeightSet> Weights::Prepare(
    const Graph& graph, const Plan& plan, std::span<const Dispatch> dispatches,
    const std::function<const vulkan::ComputePipeline&(uint32_t)>& pipeline,
    uint64_t further_bytes) {
  const std::scoped_lock lock(mutex_);
  WeightSet set;
  set.store = std::make_unique<TensorStore>(device_, plan, budget_, watch_);
  const WeightUploadInputs inputs{.device = device_,
                                  .graph = graph,
                                  .plan = plan,
                                  .dispatches = dispatches,
                                  .pipeline = pipeline,
                                  .dummy = dummy_,
                                  .host_maps_constants = is_direct_,
                                  .pool = pool_,
                                  .further_bytes = further_bytes};
  // Also afterwards: the file may be written meanwhile.
  SPIRLOOM_TRY(source_.CheckUnchanged());
  SPIRLOOM_TRY_ASSIGN(WeightUploadResult uploaded, UploadWeights(inputs, *set.store));
  SPIRLOOM_TRY(source_.CheckUnchanged());
  set.allocations = std::move(uploaded.allocations);
  set.initialized = std::move(uploaded.initialized);
  return set;
}

Result<std::unique_ptr<const Graph>> Weights::ParseMethod(std::string_view method) const {
  GraphSource source;
  {
    const std::scoped_lock lock(mutex_);
    source = source_;
  }
  SPIRLOOM_TRY(source.CheckUnchanged());
  return source.Parse(method);
}

bool Weights::IsFileNeededLater(const Graph& graph) {
  return !graph.symbols.empty() || graph.methods.size() > 1;
}

void Weights::ReleaseUnneeded(const Graph& graph) {
  if (graph.methods.size() > 1) return;
  const std::scoped_lock lock(mutex_);
  source_ = GraphSource();
}

}  // namespace spirloom::graph
