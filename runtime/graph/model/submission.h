// Submits runs to the queue.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_SUBMISSION_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_SUBMISSION_H_

#include <cstddef>
#include <mutex>
#include <span>

#include "runtime/graph/model/execution_context.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Submits one run of an idle model with recorded copies: AddInputs(), then AddRun(). The destructor
// waits for submitted parts of an incomplete run.
class Submission {
 public:
  explicit Submission(ExecutionContext& context);
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;
  ~Submission();

  // Adds the copies of inputs that the caller has written.
  void AddInputs();
  // Copies `inputs`, whose number and sizes must be correct. Several threads copy one piece each;
  // the device copies finished pieces meanwhile. The last piece is submitted with the run.
  Status AddInputs(std::span<const std::span<const std::byte>> inputs);

  // Submits the dispatches `steps` times, and the copies of outputs, with the semaphores of `info`.
  // A submission is expected to take at most RuntimeOptions::max_submission_ns. The first one waits
  // for the semaphores, the last one signals them. Each piece of the outputs signals its own fence,
  // so that host and device copies overlap.
  Status AddRun(const VkSubmitInfo& info, size_t steps);

 private:
  void Add(const vulkan::CommandBuffer& commands);
  // Adds the dispatches of `steps` runs, and submits all but the last of the submissions.
  Status AddDispatches(VkSubmitInfo& info, size_t steps);
  // Submits the commands added since the last submission. `info` then waits for no semaphores.
  Status Submit(VkSubmitInfo& info, VkFence fence);

  ExecutionContext& context_;
  std::mutex mutex_;
  size_t ready_ = 0;         // number of copied pieces of the inputs
  size_t fenced_ = 0;        // number of submitted pieces of the outputs, each with its fence
  bool incomplete_ = false;  // only a part of the run has been submitted
};

// Waits for each piece of the last submitted run and copies it to `outputs`, whose number and sizes
// must be correct.
Status TakeOutputs(const ExecutionContext& context, std::span<const std::span<std::byte>> outputs);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_SUBMISSION_H_
