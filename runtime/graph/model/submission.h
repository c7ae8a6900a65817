// How a run comes to the queue.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_SUBMISSION_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_SUBMISSION_H_

#include <cstddef>
#include <mutex>
#include <span>

#include "runtime/graph/model/model_state.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Submits one run of an idle model whose copies are recorded: AddInputs() first, AddRun() last.
// Destruction waits for what was submitted of a run that is not complete.
class Submission {
 public:
  explicit Submission(ModelState& state);
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;
  ~Submission();

  // The inputs as they are.
  void AddInputs();
  // Copies `inputs`, of the right number and sizes. While several threads copy one piece each, the
  // device copies those that are ready; the last one comes with the run.
  Status AddInputs(std::span<const std::span<const std::byte>> inputs);

  // The dispatches, `steps` times, and the outputs. `info` may have semaphores. Each piece of the
  // outputs signals a fence of its own, so that the host can copy one while the device copies the
  // next.
  Status AddRun(VkSubmitInfo info, size_t steps);

 private:
  void Add(const vulkan::CommandBuffer& commands, size_t times = 1);
  // What was added since the last one.
  Status Submit(VkSubmitInfo info, VkFence fence);

  ModelState& state_;
  std::mutex mutex_;
  size_t ready_ = 0;         // pieces of the inputs
  bool incomplete_ = false;  // a part of the run is submitted
};

// Waits for the last submitted run, piece by piece, and copies each to `outputs`, which are of the
// right number and sizes.
Status TakeOutputs(const ModelState& state, std::span<const std::span<std::byte>> outputs);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_SUBMISSION_H_
