// Runs a loaded model.
#include <algorithm>
#include <cassert>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/guarded.h"
#include "runtime/graph/model/execution_context.h"
#include "runtime/graph/model/host_copies.h"
#include "runtime/graph/model/run_commands.h"
#include "runtime/graph/model/submission.h"

namespace spirloom::internal {
namespace {

Status CheckCount(const char* kind, size_t count, size_t expected) {
  if (count == expected) return Status();
  return Status(StatusCode::kInvalidArgument,
                Format("Number of {}s is {}; the model has {}.", kind, count, expected));
}

Status CheckSize(const char* kind, const TensorInfo& info, const Binding* binding, size_t size) {
  if (size == (binding == nullptr ? info.size : 0)) return Status();
  if (binding != nullptr) {
    return Error(StatusCode::kInvalidArgument,
                 "The {} {} is bound to external memory, but {} bytes are passed for it. Pass an "
                 "empty span.",
                 kind, Quoted{info.name}, size);
  }
  return Error(StatusCode::kInvalidArgument, "The {} {} has {} bytes; expected {} bytes ({} {}).",
               kind, Quoted{info.name}, size, info.size, LongName(info.dtype),
               ToString(info.shape));
}

Status CheckInputs(const ExecutionContext& context,
                   std::span<const std::span<const std::byte>> inputs) {
  SPIRLOOM_TRY(CheckCount("input", inputs.size(), context.compiled().input_infos.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    SPIRLOOM_TRY(CheckSize("input", context.compiled().input_infos[i], context.InputBinding(i),
                           inputs[i].size()));
  }
  return Status();
}

Status CheckOutputs(const ExecutionContext& context,
                    std::span<const std::span<std::byte>> outputs) {
  SPIRLOOM_TRY(CheckCount("output", outputs.size(), context.compiled().output_infos.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    SPIRLOOM_TRY(CheckSize("output", context.compiled().output_infos[i], context.OutputBinding(i),
                           outputs[i].size()));
  }
  return Status();
}

VkSubmitInfo NoSemaphores() {
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  return info;
}

Status Complete(ExecutionContext& context, Submission& submission, const VkSubmitInfo& info,
                size_t steps) {
  SPIRLOOM_TRY(WithProgress(context, submission.AddRun(info, steps)));
  ++context.submitted;
  ++context.memory->in_flight;
  context.ran = context.current().id;
  return Status();
}

// Returns the recording of the last run; null before the first run. Fails while a run is in flight,
// or if the recording is no longer cached.
Result<const RecordedGraph*> LastRecording(const ExecutionContext& context) {
  SPIRLOOM_TRY(context.model->runtime->device->CheckAlive());
  if (context.finished != context.submitted) {
    return Error(StatusCode::kBusy,
                 "Run {} of the model is in flight. Wait for it before reading its times.",
                 context.submitted);
  }
  if (context.finished == 0) return nullptr;
  const auto found = std::ranges::find(context.recordings, context.ran, &RecordedGraph::id);
  if (found == context.recordings.end()) {
    return Error(StatusCode::kInvalidArgument,
                 "The times of run {} are not available: its shapes are not among the {} cached "
                 "ones. Read them before Resize(), or raise ModelOptions::max_cached_shapes.",
                 context.finished, context.model->options.max_cached_shapes);
  }
  return &*found;
}

}  // namespace

Status CheckIdle(const ExecutionContext& context) {
  SPIRLOOM_TRY(context.model->runtime->device->CheckAlive());
  if (context.submitted == context.finished) return Status();
  return Error(
      StatusCode::kBusy,
      "Run {} of the model is in flight. Wait for it, or create a context for each concurrent run.",
      context.submitted);
}

Status SubmitRun(ExecutionContext& context) { return SubmitRun(context, NoSemaphores()); }

Status SubmitRepeated(ExecutionContext& context, size_t steps) {
  constexpr size_t kMaxSteps = 65536;
  if (steps == 0 || steps > kMaxSteps) {
    return Error(StatusCode::kInvalidArgument, "Number of steps is {}; expected 1 to {}.", steps,
                 kMaxSteps);
  }
  if (steps > 1 && context.compiled().state_infos.empty()) {
    return Error(
        StatusCode::kInvalidArgument,
        "SubmitRepeated() with {} steps requires a model with states; this model has none.", steps);
  }
  return SubmitRun(context, NoSemaphores(), steps);
}

Status SubmitRun(ExecutionContext& context, VkSubmitInfo info, size_t steps) {
  SPIRLOOM_TRY(CheckIdle(context));
  SPIRLOOM_TRY(UpdateCopies(context));
  CorrectCommands(context);
  Submission submission(context);
  submission.AddInputs();
  return Complete(context, submission, info, steps);
}

Status SubmitRun(ExecutionContext& context, std::span<const std::span<const std::byte>> inputs) {
  SPIRLOOM_TRY(CheckIdle(context));
  SPIRLOOM_TRY(CheckInputs(context, inputs));
  SPIRLOOM_TRY(UpdateCopies(context));
  CorrectCommands(context);
  Submission submission(context);
  SPIRLOOM_TRY(submission.AddInputs(inputs));
  return Complete(context, submission, NoSemaphores(), /*steps=*/1);
}

Status FinishRun(ExecutionContext& context, uint64_t run) {
  assert(context.finished <= context.submitted && run <= context.submitted);
  if (run > context.finished) {
    context.finished = context.submitted;
    --context.memory->in_flight;
    context.last_run = Status::OutOfMemory();  // if the next line throws std::bad_alloc
    context.last_run = WithProgress(context, context.last_fence().Wait());
  }
  return run == context.finished ? context.last_run : Status();
}

Status FinishRun(ExecutionContext& context, uint64_t run,
                 std::span<const std::span<std::byte>> outputs) {
  if (run != context.submitted) {
    return Error(StatusCode::kBusy,
                 "The results of run {} were overwritten by run {}. Read them before the next run.",
                 run, context.submitted);
  }
  if (context.ran != context.current().id) {
    return Error(StatusCode::kBusy,
                 "The results of run {} are not available after Resize(). Read them before.", run);
  }
  SPIRLOOM_TRY(CheckOutputs(context, outputs));
  if (run == context.finished)
    SPIRLOOM_TRY(FinishRun(context, run));  // returns the status of the run
  Status status = Guarded([&] { return TakeOutputs(context, outputs); });
  SPIRLOOM_TRY(FinishRun(context, run));
  return status;
}

Status RunModel(ExecutionContext& context, std::span<const std::span<const std::byte>> inputs,
                std::span<const std::span<std::byte>> outputs) {
  SPIRLOOM_TRY(CheckOutputs(context, outputs));
  SPIRLOOM_TRY(SubmitRun(context, inputs));
  return FinishRun(context, context.submitted, outputs);
}

Result<std::vector<DispatchProfile>> ReadProfile(const ExecutionContext& context) {
  SPIRLOOM_TRY_ASSIGN(const RecordedGraph* recording, LastRecording(context));
  if (recording == nullptr) return context.compiled().Profile();
  std::vector<DispatchProfile> profile = recording->compiled->Profile();
  if (!context.model->options.profile || !recording->timestamps) return profile;
  SPIRLOOM_TRY_ASSIGN(const std::vector<uint64_t> times,
                      recording->timestamps->Read(static_cast<uint32_t>(2 * profile.size())));
  for (size_t i = 0; i < profile.size(); ++i) {
    profile[i].start_ns = times[2 * i];
    profile[i].gpu_ns = vulkan::Elapsed(times[2 * i], times[2 * i + 1]);
  }
  return profile;
}

Result<uint64_t> ReadGpuTime(const ExecutionContext& context) {
  if (!context.model->options.time_runs && !context.model->options.profile) {
    return Error(StatusCode::kInvalidArgument,
                 "GPU times require ModelOptions::time_runs at loading.");
  }
  SPIRLOOM_TRY_ASSIGN(const RecordedGraph* recording, LastRecording(context));
  if (recording == nullptr || !recording->timestamps) return uint64_t{0};
  const vulkan::TimestampPool& timestamps = *recording->timestamps;
  SPIRLOOM_TRY_ASSIGN(const std::vector<uint64_t> times, timestamps.Read(timestamps.count()));
  return times.back();
}

}  // namespace spirloom::internal
