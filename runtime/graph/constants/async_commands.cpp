#include "runtime/graph/constants/async_commands.h"

namespace spirloom::graph {

AsyncCommands::~AsyncCommands() {
  // On failure, the device is lost, and its objects are no longer in use or leaked.
  static_cast<void>(Wait().ok());
}

Result<vulkan::CommandBuffer*> AsyncCommands::Begin() {
  SPIRLOOM_TRY(Wait());
  if (!commands_) {
    SPIRLOOM_TRY_ASSIGN(fence_, vulkan::Fence::Create(device_));
    SPIRLOOM_TRY_ASSIGN(commands_, vulkan::CommandBuffer::Create(device_));
  }
  SPIRLOOM_TRY(commands_->Begin());
  return &*commands_;
}

Status AsyncCommands::Submit() {
  SPIRLOOM_TRY(commands_->End());
  SPIRLOOM_TRY(fence_->Reset());
  SPIRLOOM_TRY(device_.Submit(commands_->handle(), fence_->handle()));
  in_flight_ = true;
  return Status();
}

Status AsyncCommands::Wait() {
  if (!in_flight_) return Status();
  in_flight_ = false;
  return fence_->Wait();
}

}  // namespace spirloom::graph
