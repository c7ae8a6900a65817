#include "runtime/graph/model/host_interface.h"

#include <algorithm>
#include <cassert>

#include "runtime/base/align.h"
#include "runtime/base/error.h"
#include "runtime/vulkan/command_buffer.h"

namespace spirloom::internal {
namespace {

using graph::Plan;
using graph::PlanTensor;
using vulkan::MemoryUse;

constexpr uint64_t kHostAlignment = 64;  // of tensors in a staging buffer

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
  for (uint32_t tensor : tensors) total += AlignUp(plan.tensors[tensor].size, kHostAlignment);
  if (total == 0) return std::shared_ptr<const vulkan::Buffer>();
  if (last != nullptr && last->size() >= total) return last;
  SPIRLOOM_TRY_ASSIGN(vulkan::Buffer buffer, vulkan::Buffer::Create(device, total, use));
  return std::make_shared<const vulkan::Buffer>(std::move(buffer));
}

// Where the host finds each of `tensors`: in `staging`, or without it in its own buffer.
std::vector<HostTensor> MapTensors(const Plan& plan, const std::vector<uint32_t>& tensors,
                                   const graph::TensorStore& store,
                                   const std::shared_ptr<const vulkan::Buffer>& staging) {
  std::vector<HostTensor> host(tensors.size());
  uint64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[tensors[i]];
    HostTensor& mapped = host[i];
    mapped.size = static_cast<size_t>(tensor.size);
    if (tensor.size == 0) continue;
    const vulkan::Buffer& buffer = *store.Find(tensors[i])->buffer;
    assert(staging == nullptr || offset + tensor.size <= staging->size());
    mapped.data = staging ? staging->mapped() + offset : buffer.mapped();
    mapped.buffer = buffer.handle();
    mapped.offset = buffer.offset();
    mapped.staged_offset = offset;
    offset += AlignUp(tensor.size, kHostAlignment);
  }
  return host;
}

constexpr VkPipelineStageFlags kWork =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kAll = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

void Synchronize(vulkan::CommandBuffer& commands, VkPipelineStageFlags from, VkAccessFlags writes,
                 VkPipelineStageFlags to, VkAccessFlags accesses) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = writes;
  barrier.dstAccessMask = accesses;
  commands.Barrier(from, to, {&barrier, 1}, /*buffers=*/{}, /*images=*/{});
}

// One side of a model: its tensors, what they are bound to, and the staging buffer or null.
struct Interface {
  const std::vector<HostTensor>& tensors;
  const std::vector<TensorInfo>& infos;
  const std::vector<Binding>& bindings;
  const vulkan::Buffer* staging;

  const Binding* BindingOf(size_t i) const {
    return i < bindings.size() && bindings[i].buffer != VK_NULL_HANDLE ? &bindings[i] : nullptr;
  }
  bool NeedsCopies() const {
    return staging != nullptr || std::ranges::any_of(bindings, [](const Binding& b) {
             return b.buffer != VK_NULL_HANDLE;
           });
  }
};

Status CheckBindings(const Interface& side) {
  for (size_t i = 0; i < side.tensors.size(); ++i) {
    const Binding* binding = side.BindingOf(i);
    if (binding == nullptr || binding->size >= side.tensors[i].size) continue;
    return Error(StatusCode::kInvalidArgument,
                 {"The memory (", binding->size, " bytes) that ", graph::Quote(side.infos[i].name),
                  " is bound to is smaller than the tensor (", side.tensors[i].size, " bytes)."});
  }
  return Status();
}

// Calls copy(buffer, offset, tensor) for each tensor with elements and the place beside the model
// that it is copied from or to.
template <typename Copy>
void ForEachCopy(const Interface& side, const Copy& copy) {
  for (size_t i = 0; i < side.tensors.size(); ++i) {
    const HostTensor& tensor = side.tensors[i];
    if (tensor.size == 0) continue;
    if (const Binding* binding = side.BindingOf(i)) {
      copy(binding->buffer, binding->offset, tensor);
    } else if (side.staging != nullptr) {
      copy(side.staging->handle(), tensor.staged_offset, tensor);
    }
  }
}

// Work that the application gave to the queue earlier has written what is bound, and later work may
// read it.
Result<vulkan::CommandBuffer> RecordCopiesIn(const vulkan::Device& device, const Interface& side) {
  SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer commands, vulkan::CommandBuffer::Create(device));
  SPIRLOOM_TRY(commands.Begin());
  Synchronize(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
              VK_PIPELINE_STAGE_TRANSFER_BIT, kAll);
  ForEachCopy(side, [&](VkBuffer buffer, uint64_t offset, const HostTensor& tensor) {
    commands.CopyBuffer(buffer, offset, tensor.buffer, tensor.offset, tensor.size);
  });
  Synchronize(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, kWork, kAll);
  SPIRLOOM_TRY(commands.End());
  return commands;
}

Result<vulkan::CommandBuffer> RecordCopiesOut(const vulkan::Device& device, const Interface& side) {
  SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer commands, vulkan::CommandBuffer::Create(device));
  SPIRLOOM_TRY(commands.Begin());
  Synchronize(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
              VK_PIPELINE_STAGE_TRANSFER_BIT, kAll);
  ForEachCopy(side, [&](VkBuffer buffer, uint64_t offset, const HostTensor& tensor) {
    commands.CopyBuffer(tensor.buffer, tensor.offset, buffer, offset, tensor.size);
  });
  Synchronize(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
              VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
              kAll | VK_ACCESS_HOST_READ_BIT);
  SPIRLOOM_TRY(commands.End());
  return commands;
}

Status RecordCopies(const ModelState& state, Recording& recording) {
  const vulkan::Device& device = *state.runtime->device;
  const Interface inputs{recording.inputs, recording.input_infos, state.input_bindings,
                         recording.staged_inputs.get()};
  const Interface outputs{recording.outputs, recording.output_infos, state.output_bindings,
                          recording.staged_outputs.get()};
  SPIRLOOM_TRY(CheckBindings(inputs));
  SPIRLOOM_TRY(CheckBindings(outputs));
  recording.copies_in.reset();
  recording.copies_out.reset();
  if (inputs.NeedsCopies()) {
    SPIRLOOM_TRY_ASSIGN(recording.copies_in, RecordCopiesIn(device, inputs));
  }
  if (outputs.NeedsCopies()) {
    SPIRLOOM_TRY_ASSIGN(recording.copies_out, RecordCopiesOut(device, outputs));
  }
  recording.binding_version = state.binding_version;
  return Status();
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

Status MakeCopies(const ModelState& state, Recording& recording) {
  if (!state.input_bindings.empty() || !state.output_bindings.empty()) return Status();
  return RecordCopies(state, recording);
}

Status UpdateCopies(ModelState& state) {
  Recording& recording = state.recordings.front();
  if (recording.binding_version == state.binding_version) return Status();
  return RecordCopies(state, recording);
}

}  // namespace spirloom::internal
