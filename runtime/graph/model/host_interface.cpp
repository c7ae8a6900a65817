#include "runtime/graph/model/host_interface.h"

#include <cassert>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/align.h"
#include "runtime/graph/memory/memory_budget.h"

namespace spirloom::internal {
namespace {

using graph::Plan;
using vulkan::MemoryUse;

std::vector<uint32_t> Roots(const Plan& plan, const std::vector<uint32_t>& tensors) {
  std::vector<uint32_t> roots;
  for (uint32_t tensor : tensors) roots.push_back(plan.Root(tensor));
  return roots;
}

struct ReservedBuffer {
  ReservedBuffer(graph::Reservation used_reservation, vulkan::Buffer used_buffer)
      : reservation(std::move(used_reservation)), buffer(std::move(used_buffer)) {}
  graph::Reservation reservation;
  vulkan::Buffer buffer;
};

// Returns the staging buffer for all `tensors`, charged to `budget`: `last` if it is large enough;
// null if all are empty.
Result<std::shared_ptr<const vulkan::Buffer>> Staging(
    const CompiledGraph& graph, const std::vector<uint32_t>& tensors, const vulkan::Device& device,
    MemoryUse use, const std::shared_ptr<graph::MemoryBudget>& budget,
    const std::shared_ptr<const vulkan::Buffer>& last) {
  uint64_t total = 0;
  for (uint32_t tensor : tensors) total += AlignUp(graph.SizeOf(tensor), kHostAlignment);
  if (total == 0) return std::shared_ptr<const vulkan::Buffer>();
  if (last != nullptr && last->size() >= total) return last;
  SPIRLOOM_TRY(budget->Reserve(total));
  graph::Reservation reservation(budget, total);
  SPIRLOOM_TRY_ASSIGN(vulkan::Buffer buffer, vulkan::Buffer::Create(device, total, use));
  const auto reserved =
      std::make_shared<const ReservedBuffer>(std::move(reservation), std::move(buffer));
  return std::shared_ptr<const vulkan::Buffer>(reserved, &reserved->buffer);
}

// Returns the host address of each tensor: in `staging`, or, if that is null, in its own buffer.
std::vector<HostTensor> MapTensors(const CompiledGraph& graph, const std::vector<uint32_t>& tensors,
                                   const graph::TensorStore& store,
                                   const std::shared_ptr<const vulkan::Buffer>& staging) {
  std::vector<HostTensor> host(tensors.size());
  uint64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const uint64_t size = graph.SizeOf(tensors[i]);
    HostTensor& mapped = host[i];
    mapped.size = static_cast<size_t>(size);
    if (size == 0) continue;
    const vulkan::Buffer& buffer = *store.Find(tensors[i])->buffer;
    assert(staging == nullptr || offset + size <= staging->size());
    mapped.data = staging ? staging->mapped() + offset : buffer.mapped();
    mapped.buffer = buffer.handle();
    mapped.offset = buffer.offset();
    mapped.staged_offset = offset;
    offset += AlignUp(size, kHostAlignment);
  }
  return host;
}

}  // namespace

Status AllocateInterface(ExecutionContext& context, RecordedGraph& recording) {
  const Plan& plan = recording.compiled->structure();
  graph::TensorStore& store = *recording.store;
  SPIRLOOM_TRY(store.Allocate(Roots(plan, plan.inputs), context.input_memory).status());
  SPIRLOOM_TRY(store.Allocate(Roots(plan, plan.outputs), context.output_memory).status());
  return MapInterface(context, recording);
}

Status MapInterface(ExecutionContext& context, RecordedGraph& recording) {
  const CompiledGraph& graph = *recording.compiled;
  const Plan& plan = graph.structure();
  const graph::TensorStore& store = *recording.store;
  if (!context.direct()) {
    const vulkan::Device& device = *context.model->runtime->device;
    const bool first = context.recordings.empty();
    const auto& budget = context.memory->budget;
    SPIRLOOM_TRY_ASSIGN(recording.staged_inputs,
                        Staging(graph, plan.inputs, device, MemoryUse::kUpload, budget,
                                first ? nullptr : context.current().staged_inputs));
    SPIRLOOM_TRY_ASSIGN(recording.staged_outputs,
                        Staging(graph, plan.outputs, device, MemoryUse::kReadback, budget,
                                first ? nullptr : context.current().staged_outputs));
  }
  recording.inputs = MapTensors(graph, plan.inputs, store, recording.staged_inputs);
  recording.outputs = MapTensors(graph, plan.outputs, store, recording.staged_outputs);
  return Status();
}

}  // namespace spirloom::internal
