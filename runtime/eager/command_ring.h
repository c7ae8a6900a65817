#ifndef SPIRLOOM_RUNTIME_EAGER_COMMAND_RING_H_
#define SPIRLOOM_RUNTIME_EAGER_COMMAND_RING_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/fence.h"
#include "spirloom/status.h"

namespace spirloom::eager {

// Records commands, numbered from 1, into command buffers that are submitted in order and used
// again when they have completed. Not thread-safe. The destructor waits for the submissions.
//
// After a failed submission, all calls fail with its error, and the commands that were not
// submitted are lost.
class CommandRing {
 public:
  explicit CommandRing(const vulkan::Device& device) : device_(device) {}
  CommandRing(const CommandRing&) = delete;
  CommandRing& operator=(const CommandRing&) = delete;
  ~CommandRing();

  // The command buffer for the next command, which has the index last_recorded() after the call.
  // Submits the previous commands first if there are enough of them.
  Result<vulkan::CommandBuffer*> Next();
  // Submits the recorded commands, if any.
  Status Submit();
  // Submits and waits for the commands up to `index`. A larger index is that of the last command.
  Status Wait(uint64_t index);
  // Updates last_completed() without waiting.
  Status Poll();

  uint64_t last_recorded() const { return recorded_; }
  uint64_t last_submitted() const { return submitted_; }
  uint64_t last_completed() const { return completed_; }
  uint64_t submissions() const { return submissions_; }

 private:
  // A command buffer, and the fence of its submission.
  struct Batch {
    vulkan::CommandBuffer commands;
    vulkan::Fence fence;
    uint64_t last = 0;  // index of its last command
  };

  Status Open();
  Status EndAndSubmit();
  // Marks the commands of the first submission as completed.
  Status RetireFirst();

  const vulkan::Device& device_;
  Status failure_;             // of a submission
  std::optional<Batch> open_;  // being recorded
  std::deque<Batch> running_;  // submitted, in order
  std::vector<Batch> idle_;
  uint64_t recorded_ = 0;
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
  uint64_t submissions_ = 0;
  uint64_t capacity_ = 0;  // commands of the open batch, after which it is submitted
};

}  // namespace spirloom::eager

#endif  // SPIRLOOM_RUNTIME_EAGER_COMMAND_RING_H_
