#include "runtime/graph/model/submission.h"

#include <cassert>
#include <cstring>
#include <functional>

namespace spirloom::internal {

Submission::Submission(ExecutionContext& context) : context_(context) { context.commands.clear(); }

Submission::~Submission() {
  if (incomplete_) (void)context_.model->runtime->device->DrainQueue(VK_NOT_READY);
}

void Submission::Add(const vulkan::CommandBuffer& commands, size_t times) {
  context_.commands.insert(context_.commands.end(), times, commands.handle());
}

void Submission::AddInputs() {
  for (const vulkan::CommandBuffer& piece : context_.current().copies_in.commands) Add(piece);
}

Status Submission::AddInputs(std::span<const std::span<const std::byte>> inputs) {
  const RecordedGraph& recording = context_.current();
  const Copies& copies = recording.copies_in;
  const auto copy = [&](size_t piece) -> Status {
    for (const Part& part : copies.parts) {
      if (part.piece != piece || inputs[part.tensor].empty()) continue;  // empty: bound
      assert(part.offset + part.size <= inputs[part.tensor].size());
      std::memcpy(recording.inputs[part.tensor].data + part.offset,
                  inputs[part.tensor].data() + part.offset, static_cast<size_t>(part.size));
    }
    const std::scoped_lock lock(mutex_);
    if (!copies.commands.empty()) Add(copies.commands[piece]);
    if (++ready_ == copies.pieces) return Status();
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    return Submit(info, VK_NULL_HANDLE);
  };
  return context_.model->runtime->device->host().ParallelFor(copies.pieces, std::ref(copy),
                                                             kCopyThreads);
}

Status Submission::AddRun(VkSubmitInfo info, size_t steps) {
  const RecordedGraph& recording = context_.current();
  const Copies& copies = recording.copies_out;
  if (recording.commands) Add(*recording.commands, steps);
  for (size_t i = 0; i < copies.pieces; ++i) {
    if (!copies.commands.empty()) Add(copies.commands[i]);
    VkSubmitInfo part = info;
    if (i > 0) part.waitSemaphoreCount = 0;
    if (i + 1 < copies.pieces) part.signalSemaphoreCount = 0;
    SPIRLOOM_TRY(context_.fences[i].Reset());
    SPIRLOOM_TRY(Submit(part, context_.fences[i].handle()));
  }
  incomplete_ = false;
  return Status();
}

Status Submission::Submit(VkSubmitInfo info, VkFence fence) {
  info.commandBufferCount = static_cast<uint32_t>(context_.commands.size());
  info.pCommandBuffers = context_.commands.data();
  SPIRLOOM_TRY(context_.model->runtime->device->Submit(info, fence));
  incomplete_ = true;
  context_.commands.clear();
  return Status();
}

Status TakeOutputs(const ExecutionContext& context, std::span<const std::span<std::byte>> outputs) {
  const RecordedGraph& recording = context.current();
  const Copies& copies = recording.copies_out;
  // Waits for the first piece here, so that the host's threads are not blocked during the run.
  SPIRLOOM_TRY(context.fences.front().Wait());
  const auto copy = [&](size_t piece) -> Status {
    if (piece > 0) SPIRLOOM_TRY(context.fences[piece].Wait());
    for (const Part& part : copies.parts) {
      if (part.piece != piece || outputs[part.tensor].empty()) continue;  // empty: bound
      assert(part.offset + part.size <= outputs[part.tensor].size());
      std::memcpy(outputs[part.tensor].data() + part.offset,
                  recording.outputs[part.tensor].data + part.offset,
                  static_cast<size_t>(part.size));
    }
    return Status();
  };
  return context.model->runtime->device->host().ParallelFor(copies.pieces, std::ref(copy),
                                                            kCopyThreads);
}

}  // namespace spirloom::internal
