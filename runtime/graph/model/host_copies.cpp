#include "runtime/graph/model/host_copies.h"

#include <algorithm>
#include <utility>

#include "runtime/base/align.h"
#include "runtime/base/error.h"

namespace spirloom::internal {
namespace {

constexpr VkPipelineStageFlags kWork =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kAll = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

// Maximum number of pieces of one side of a model. Four per copying thread balance the load and let
// the device start early.
constexpr uint64_t kMaxPieces = 4 * kCopyThreads;

void Synchronize(vulkan::CommandBuffer& commands, VkPipelineStageFlags from, VkAccessFlags writes,
                 VkPipelineStageFlags to, VkAccessFlags accesses) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = writes;
  barrier.dstAccessMask = accesses;
  commands.Barrier(from, to, {&barrier, 1}, /*buffers=*/{}, /*images=*/{});
}

// One side of a model: its tensors, their bindings, and the staging buffer or null.
struct Interface {
  bool is_input;
  const std::vector<HostTensor>& tensors;
  const std::vector<TensorInfo>& infos;
  const std::vector<Binding>& bindings;
  const vulkan::Buffer* staging;

  const Binding* BindingOf(size_t i) const {
    return i < bindings.size() && bindings[i].buffer != VK_NULL_HANDLE ? &bindings[i] : nullptr;
  }
  bool HasBindings() const {
    return std::ranges::any_of(bindings,
                               [](const Binding& b) { return b.buffer != VK_NULL_HANDLE; });
  }
  bool NeedsCopies() const { return staging != nullptr || HasBindings(); }
};

Status CheckBindings(const Interface& side) {
  for (size_t i = 0; i < side.tensors.size(); ++i) {
    const Binding* binding = side.BindingOf(i);
    if (binding == nullptr || binding->size >= side.tensors[i].size) continue;
    return Error(StatusCode::kInvalidArgument,
                 "The memory bound to {} has {} bytes; the tensor requires {} bytes.",
                 Quoted{side.infos[i].name}, binding->size, side.tensors[i].size);
  }
  return Status();
}

// Divides the tensors into pieces of equal size, at least `min_bytes`. Bound tensors are not copied
// by the host and not divided.
Copies Cut(const Interface& side, uint64_t min_bytes) {
  uint64_t total = 0;
  for (size_t i = 0; i < side.tensors.size(); ++i) {
    if (side.BindingOf(i) == nullptr) total += AlignUp(side.tensors[i].size, kHostAlignment);
  }
  const uint64_t count = std::clamp<uint64_t>(total / min_bytes, 1, kMaxPieces);
  const uint64_t piece_bytes = AlignUp((total + count - 1) / count, kHostAlignment);
  Copies copies;
  copies.pieces = 1;
  uint64_t free_bytes = piece_bytes;
  for (size_t i = 0; i < side.tensors.size(); ++i) {
    const uint64_t size = side.tensors[i].size;
    if (side.BindingOf(i) != nullptr) {
      copies.parts.push_back({copies.pieces - 1, i, 0, size});
      continue;
    }
    for (uint64_t offset = 0; offset < size;) {
      if (free_bytes == 0) {
        ++copies.pieces;
        free_bytes = piece_bytes;
      }
      const uint64_t part = std::min(size - offset, free_bytes);
      copies.parts.push_back({copies.pieces - 1, i, offset, part});
      offset += part;
      free_bytes -= std::min(free_bytes, AlignUp(part, kHostAlignment));
    }
  }
  return copies;
}

// Records the copy of `part` if it has a binding or a staging buffer.
void AddCopy(vulkan::CommandBuffer& commands, const Interface& side, const Part& part) {
  const HostTensor& tensor = side.tensors[part.tensor];
  const Binding* binding = side.BindingOf(part.tensor);
  if (part.size == 0 || (binding == nullptr && side.staging == nullptr)) return;
  VkBuffer external = binding == nullptr ? side.staging->handle() : binding->buffer;
  const uint64_t base = binding == nullptr ? tensor.staged_offset : binding->offset;
  if (side.is_input) {
    commands.CopyBuffer(external, base + part.offset, tensor.buffer, tensor.offset + part.offset,
                        part.size);
  } else {
    commands.CopyBuffer(tensor.buffer, tensor.offset + part.offset, external, base + part.offset,
                        part.size);
  }
}

// Staged copies order only themselves: inputs are written after the host has waited for the
// previous run, and before the dispatches; Recorder::Finish() precedes the copies of outputs, which
// only the host reads. So copies of one context overlap with the dispatches and copies of others.
// Bound buffers may be written by earlier submissions of the application, and read by later ones.
Status RecordPiece(const Interface& side, const Copies& copies, size_t piece,
                   vulkan::CommandBuffer& commands) {
  SPIRLOOM_TRY(commands.Begin());
  const bool bound = side.HasBindings();
  if (bound) {
    Synchronize(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                VK_PIPELINE_STAGE_TRANSFER_BIT, kAll);
  }
  for (const Part& part : copies.parts) {
    if (part.piece == piece) AddCopy(commands, side, part);
  }
  VkPipelineStageFlags stages = VK_PIPELINE_STAGE_HOST_BIT;
  VkAccessFlags accesses = VK_ACCESS_HOST_READ_BIT;
  if (side.is_input) {
    stages = kWork;
    accesses = kAll;
  } else if (bound) {
    stages |= VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    accesses |= kAll;
  }
  Synchronize(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, stages,
              accesses);
  return commands.End();
}

Status RecordSide(const vulkan::Device& device, const Interface& side, uint64_t min_bytes,
                  Copies& copies) {
  SPIRLOOM_TRY(CheckBindings(side));
  copies = Cut(side, min_bytes);
  if (!side.NeedsCopies()) return Status();
  SPIRLOOM_TRY_ASSIGN(copies.commands, vulkan::CommandBuffer::Create(device, copies.pieces));
  for (size_t piece = 0; piece < copies.pieces; ++piece) {
    SPIRLOOM_TRY(RecordPiece(side, copies, piece, copies.commands[piece]));
  }
  return Status();
}

Status RecordCopies(ExecutionContext& context, RecordedGraph& recording) {
  const vulkan::Device& device = *context.model->runtime->device;
  const Interface inputs{true, recording.inputs, recording.compiled->input_infos,
                         context.input_bindings, recording.staged_inputs.get()};
  const Interface outputs{false, recording.outputs, recording.compiled->output_infos,
                          context.output_bindings, recording.staged_outputs.get()};
  SPIRLOOM_TRY(
      RecordSide(device, inputs, context.model->config.access.piece_bytes, recording.copies_in));
  SPIRLOOM_TRY(
      RecordSide(device, outputs, context.model->config.access.piece_bytes, recording.copies_out));
  while (context.fences.size() < recording.copies_out.pieces) {
    SPIRLOOM_TRY_ASSIGN(vulkan::Fence fence, vulkan::Fence::Create(device));
    context.fences.push_back(std::move(fence));
  }
  recording.binding_version = context.binding_version;
  return Status();
}

}  // namespace

Status MakeCopies(ExecutionContext& context, RecordedGraph& recording) {
  if (!context.input_bindings.empty() || !context.output_bindings.empty()) return Status();
  return RecordCopies(context, recording);
}

Status UpdateCopies(ExecutionContext& context) {
  RecordedGraph& recording = context.recordings.front();
  if (recording.binding_version == context.binding_version) return Status();
  return RecordCopies(context, recording);
}

}  // namespace spirloom::internal
