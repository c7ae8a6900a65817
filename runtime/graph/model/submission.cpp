#include "runtime/graph/model/submission.h"

#include <cassert>
#include <cstring>
#include <functional>

namespace spirloom::internal {

Submission::Submission(ExecutionContext& context) : context_(context) { context.commands.clear(); }

Submission::~Submission() {
  if (incomplete_)
    (void)context_.model->runtime->device->DrainQueue(context_.fences[fenced_].handle());
}

void Submission::Add(const vulkan::CommandBuffer& commands) {
  context_.commands.push_back(commands.handle());
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

Status Submission::AddRun(const VkSubmitInfo& info, size_t steps) {
  const RecordedGraph& recording = context_.current();
  const Copies& copies = recording.copies_out;
  VkSubmitInfo part = info;
  part.signalSemaphoreCount = 0;
  SPIRLOOM_TRY(AddDispatches(part, steps));
  for (; fenced_ < copies.pieces; ++fenced_) {
    if (!copies.commands.empty()) Add(copies.commands[fenced_]);
    if (fenced_ + 1 == copies.pieces) part.signalSemaphoreCount = info.signalSemaphoreCount;
    SPIRLOOM_TRY(context_.fences[fenced_].Reset());
    SPIRLOOM_TRY(Submit(part, context_.fences[fenced_].handle()));
  }
  incomplete_ = false;
  return Status();
}

Status Submission::AddDispatches(VkSubmitInfo& info, size_t steps) {
  const RunCommands& run = context_.current().run;
  const uint64_t max_ns = context_.device().host().max_submission_ns;
  if (run.finished) std::memset(run.finished->mapped(), 0, sizeof(uint32_t));
  uint64_t ns = 0;  // expected time of the added commands
  for (size_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < run.segments.size(); ++i) {
      const uint64_t segment_ns = run.segments[i].ns;
      if (max_ns > 0 && ns > 0 && ns + segment_ns > max_ns) {
        SPIRLOOM_TRY(Submit(info, VK_NULL_HANDLE));
        ns = 0;
      }
      Add(run.commands[i]);
      ns += segment_ns;
    }
  }
  return Status();
}

Status Submission::Submit(VkSubmitInfo& info, VkFence fence) {
  info.commandBufferCount = static_cast<uint32_t>(context_.commands.size());
  info.pCommandBuffers = context_.commands.data();
  SPIRLOOM_TRY(context_.model->runtime->device->Submit(info, fence));
  incomplete_ = true;
  info.waitSemaphoreCount = 0;
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
