// Commands that the device executes while the host prepares the next ones.
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_ASYNC_COMMANDS_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_ASYNC_COMMANDS_H_

#include <optional>

#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/fence.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Owns a command buffer and the fence of its last submission, which the destructor waits for.
class AsyncCommands {
 public:
  explicit AsyncCommands(const vulkan::Device& device) : device_(device) {}
  AsyncCommands(const AsyncCommands&) = delete;
  AsyncCommands& operator=(const AsyncCommands&) = delete;
  ~AsyncCommands();

  // Waits for the last submission and starts recording. Returns the command buffer, which remains
  // valid.
  Result<vulkan::CommandBuffer*> Begin();
  // Ends recording and submits the commands.
  Status Submit();
  // Waits for the last submission, if any.
  Status Wait();

 private:
  const vulkan::Device& device_;
  std::optional<vulkan::CommandBuffer> commands_;
  std::optional<vulkan::Fence> fence_;
  bool in_flight_ = false;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_ASYNC_COMMANDS_H_
