#include "runtime/eager/command_ring.h"

#include <algorithm>
#include <array>
#include <utility>

namespace spirloom::eager {
namespace {

// Commands of a submission: few while the device has little to do, so that it starts early, then
// more, so that a submission costs little per command.
constexpr uint64_t kMinCommands = 4;
constexpr uint64_t kMaxCommands = 64;

// Submissions that may be in flight. More would only delay the first wait.
constexpr size_t kMaxRunning = 16;

// Device work of this module: copies and fills, and dispatches.
constexpr VkPipelineStageFlags kDeviceStages =
    VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;

}  // namespace

CommandRing::~CommandRing() {
  if (running_.empty()) return;
  // Submissions complete in order. After an error the device is lost or abandoned.
  (void)running_.back().fence.Wait();
}

Status CommandRing::Open() {
  if (open_) return {};
  if (idle_.empty()) {
    SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer commands, vulkan::CommandBuffer::Create(device_));
    SPIRLOOM_TRY_ASSIGN(vulkan::Fence fence, vulkan::Fence::Create(device_));
    idle_.push_back({std::move(commands), std::move(fence)});
  }
  Batch& batch = idle_.back();
  SPIRLOOM_TRY(batch.fence.Reset());
  SPIRLOOM_TRY(batch.commands.Begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
  open_.emplace(std::move(batch));
  idle_.pop_back();
  return {};
}

Result<vulkan::CommandBuffer*> CommandRing::Next() {
  SPIRLOOM_TRY(Status(failure_));
  if (open_ && recorded_ - submitted_ >= capacity_) SPIRLOOM_TRY(Submit());
  if (!open_) {
    capacity_ = running_.empty() ? kMinCommands : std::min(4 * capacity_, kMaxCommands);
  }
  SPIRLOOM_TRY(Open());
  ++recorded_;
  return &open_->commands;
}

Status CommandRing::EndAndSubmit() {
  // The host may read results of completed commands, and later submissions depend on them.
  const VkMemoryBarrier barrier{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .pNext = nullptr,
      .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT |
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT};
  open_->commands.Barrier(kDeviceStages, kDeviceStages | VK_PIPELINE_STAGE_HOST_BIT, {&barrier, 1},
                          {}, {});
  SPIRLOOM_TRY(open_->commands.End());
  return device_.Submit(open_->commands.handle(), open_->fence.handle());
}

Status CommandRing::Submit() {
  SPIRLOOM_TRY(Status(failure_));
  if (!open_) return {};
  while (running_.size() >= kMaxRunning) SPIRLOOM_TRY(RetireFirst());
  failure_ = EndAndSubmit();
  open_->last = recorded_;
  if (!failure_.ok()) {
    idle_.push_back(std::move(*open_));
    open_.reset();
    return failure_;
  }
  running_.push_back(std::move(*open_));
  open_.reset();
  submitted_ = recorded_;
  ++submissions_;
  return {};
}

Status CommandRing::RetireFirst() {
  SPIRLOOM_TRY(running_.front().fence.Wait());
  completed_ = running_.front().last;
  idle_.push_back(std::move(running_.front()));
  running_.pop_front();
  return {};
}

Status CommandRing::Wait(uint64_t index) {
  index = std::min(index, recorded_);
  if (index > submitted_) SPIRLOOM_TRY(Submit());
  while (completed_ < index) SPIRLOOM_TRY(RetireFirst());
  return {};
}

Status CommandRing::Poll() {
  while (!running_.empty()) {
    SPIRLOOM_TRY_ASSIGN(const bool done, running_.front().fence.IsSignaled());
    if (!done) return {};
    SPIRLOOM_TRY(RetireFirst());
  }
  return {};
}

}  // namespace spirloom::eager
