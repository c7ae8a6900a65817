#include "runtime/graph/model/host_interface.h"

namespace spirloom::internal {
namespace {

using graph::Plan;
using graph::PlanTensor;
using vulkan::MemoryUse;

constexpr uint64_t kHostAlignment = 64;

// What a tensor takes of a staging buffer, in which they follow one another.
uint64_t StagedSize(const PlanTensor& tensor) {
  return (tensor.size + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
}

std::vector<uint32_t> Roots(const Plan& plan, const std::vector<uint32_t>& tensors) {
  std::vector<uint32_t> roots;
  for (uint32_t tensor : tensors) roots.push_back(plan.Root(tensor));
  return roots;
}

// The staging buffer for all of `tensors`: that of `last` if it is large enough; null when they
// have no elements.
Result<std::shared_ptr<const vulkan::Buffer>> Staging(
    const Plan& plan, const std::vector<uint32_t>& tensors, const vulkan::Device& device,
    MemoryUse use, const std::shared_ptr<const vulkan::Buffer>& last) {
  uint64_t total = 0;
  for (uint32_t tensor : tensors) total += StagedSize(plan.tensors[tensor]);
  if (total == 0) return std::shared_ptr<const vulkan::Buffer>();
  if (last != nullptr && last->size() >= total) return last;
  SPIRLOOM_TRY_ASSIGN(vulkan::Buffer buffer, vulkan::Buffer::Create(device, total, use));
  return std::make_shared<const vulkan::Buffer>(std::move(buffer));
}

// Where the host finds each of `tensors`: in `staging`, or without it in its own buffer.
std::vector<HostTensor> MapTensors(const Plan& plan, const std::vector<uint32_t>& tensors,
                                   const graph::TensorStore& store,
                                   const std::shared_ptr<const vulkan::Buffer>& staging) {
  std::vector<HostTensor> host;
  uint64_t offset = 0;
  for (uint32_t index : tensors) {
    const PlanTensor& tensor = plan.tensors[index];
    HostTensor& mapped = host.emplace_back();
    mapped.size = tensor.size;
    if (tensor.size == 0) continue;
    mapped.data = staging ? staging->mapped() + offset : store.Find(index)->buffer->mapped();
    offset += StagedSize(tensor);
  }
  return host;
}

// Calls copy(tensor, offset, size) for each of `tensors` that has elements.
template <typename Copy>
void ForEachStaged(const Plan& plan, const std::vector<uint32_t>& tensors, const Copy& copy) {
  uint64_t offset = 0;
  for (uint32_t tensor : tensors) {
    const uint64_t size = plan.tensors[tensor].size;
    if (size > 0) copy(tensor, offset, size);
    offset += StagedSize(plan.tensors[tensor]);
  }
}

}  // namespace

Status AllocateInterface(const Plan& plan, ModelState& state, Recording& recording) {
  graph::TensorStore& store = *recording.store;
  SPIRLOOM_TRY(store.Allocate(Roots(plan, plan.inputs), state.input_memory).status());
  SPIRLOOM_TRY(store.Allocate(Roots(plan, plan.outputs), state.output_memory).status());
  if (!state.direct()) {
    const vulkan::Device& device = *state.runtime->device;
    const bool first = state.recordings.empty();
    SPIRLOOM_TRY_ASSIGN(recording.staged_inputs,
                        Staging(plan, plan.inputs, device, MemoryUse::kUpload,
                                first ? nullptr : state.current().staged_inputs));
    SPIRLOOM_TRY_ASSIGN(recording.staged_outputs,
                        Staging(plan, plan.outputs, device, MemoryUse::kReadback,
                                first ? nullptr : state.current().staged_outputs));
  }
  recording.inputs = MapTensors(plan, plan.inputs, store, recording.staged_inputs);
  recording.outputs = MapTensors(plan, plan.outputs, store, recording.staged_outputs);
  return Status();
}

void RecordInputCopies(const Plan& plan, const Recording& recording, graph::Recorder& recorder) {
  if (!recording.staged_inputs) return;
  ForEachStaged(plan, plan.inputs, [&](uint32_t tensor, uint64_t offset, uint64_t size) {
    recorder.CopyFromHost(*recording.staged_inputs, offset, tensor, /*tensor_offset=*/0, size);
  });
}

void RecordOutputCopies(const Plan& plan, const Recording& recording, graph::Recorder& recorder) {
  if (!recording.staged_outputs) return;
  ForEachStaged(plan, plan.outputs, [&](uint32_t tensor, uint64_t offset, uint64_t size) {
    recorder.CopyToHost(tensor, *recording.staged_outputs, offset, size);
  });
}

}  // namespace spirloom::internal
