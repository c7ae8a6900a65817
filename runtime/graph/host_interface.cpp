#include "runtime/graph/host_interface.h"

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

// Makes a staging buffer for all of `tensors`; none when they have no elements.
Status MakeStaging(const Plan& plan, const std::vector<uint32_t>& tensors,
                   const vulkan::Device& device, MemoryUse use,
                   std::optional<vulkan::Buffer>& staging) {
  uint64_t total = 0;
  for (uint32_t tensor : tensors) total += StagedSize(plan.tensors[tensor]);
  if (total == 0) return Status();
  SPIRLOOM_TRY_ASSIGN(staging, vulkan::Buffer::Create(device, total, use));
  return Status();
}

// Where the host finds each of `tensors`: in `staging`, or without it in its own buffer.
std::vector<HostTensor> MapTensors(const Plan& plan, const std::vector<uint32_t>& tensors,
                                   const graph::TensorStore& store,
                                   const std::optional<vulkan::Buffer>& staging) {
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

Status AllocateInterface(const Plan& plan, HostAccess access, ModelState& state) {
  const bool direct = access == HostAccess::kDirect;
  graph::TensorStore& store = *state.store;
  SPIRLOOM_TRY(
      store.Allocate(Roots(plan, plan.inputs), direct ? MemoryUse::kUpload : MemoryUse::kDevice)
          .status());
  SPIRLOOM_TRY(
      store.Allocate(Roots(plan, plan.outputs), direct ? MemoryUse::kReadback : MemoryUse::kDevice)
          .status());
  if (!direct) {
    const vulkan::Device& device = *state.runtime->device;
    SPIRLOOM_TRY(MakeStaging(plan, plan.inputs, device, MemoryUse::kUpload, state.staged_inputs));
    SPIRLOOM_TRY(
        MakeStaging(plan, plan.outputs, device, MemoryUse::kReadback, state.staged_outputs));
  }
  state.inputs = MapTensors(plan, plan.inputs, store, state.staged_inputs);
  state.outputs = MapTensors(plan, plan.outputs, store, state.staged_outputs);
  return Status();
}

void RecordInputCopies(const Plan& plan, const ModelState& state, graph::Recorder& recorder) {
  if (!state.staged_inputs) return;
  ForEachStaged(plan, plan.inputs, [&](uint32_t tensor, uint64_t offset, uint64_t size) {
    recorder.CopyFromHost(*state.staged_inputs, offset, tensor, /*tensor_offset=*/0, size);
  });
}

void RecordOutputCopies(const Plan& plan, const ModelState& state, graph::Recorder& recorder) {
  if (!state.staged_outputs) return;
  ForEachStaged(plan, plan.outputs, [&](uint32_t tensor, uint64_t offset, uint64_t size) {
    recorder.CopyToHost(tensor, *state.staged_outputs, offset, size);
  });
}

}  // namespace spirloom::internal
