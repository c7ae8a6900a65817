// Runs a loaded model.
#include <algorithm>
#include <cassert>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/guarded.h"
#include "runtime/graph/model/host_copies.h"
#include "runtime/graph/model/model_state.h"
#include "runtime/graph/model/submission.h"

namespace spirloom::internal {
namespace {

Status CheckCount(const char* kind, size_t count, size_t expected) {
  if (count == expected) return Status();
  return Status(StatusCode::kInvalidArgument,
                Concat({"Number of ", kind, "s is ", count, "; the model has ", expected, "."}));
}

Status CheckSize(const char* kind, const TensorInfo& info, const Binding* binding, size_t size) {
  if (size == (binding == nullptr ? info.size : 0)) return Status();
  if (binding != nullptr) {
    return Error(StatusCode::kInvalidArgument,
                 {"The ", kind, " ", graph::Quote(info.name), " is bound to external memory, but ",
                  size, " bytes are passed for it. Pass an empty span."});
  }
  return Error(StatusCode::kInvalidArgument,
               {"The ", kind, " ", graph::Quote(info.name), " has ", size, " bytes; expected ",
                info.size, " bytes (", LongName(info.dtype), " ", ToString(info.shape), ")."});
}

Status CheckInputs(const ModelState& state, std::span<const std::span<const std::byte>> inputs) {
  SPIRLOOM_TRY(CheckCount("input", inputs.size(), state.current().input_infos.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    SPIRLOOM_TRY(CheckSize("input", state.current().input_infos[i], state.InputBinding(i),
                           inputs[i].size()));
  }
  return Status();
}

Status CheckOutputs(const ModelState& state, std::span<const std::span<std::byte>> outputs) {
  SPIRLOOM_TRY(CheckCount("output", outputs.size(), state.current().output_infos.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    SPIRLOOM_TRY(CheckSize("output", state.current().output_infos[i], state.OutputBinding(i),
                           outputs[i].size()));
  }
  return Status();
}

VkSubmitInfo NoSemaphores() {
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  return info;
}

Status Complete(ModelState& state, Submission& submission, const VkSubmitInfo& info, size_t steps) {
  SPIRLOOM_TRY(submission.AddRun(info, steps));
  ++state.submitted;
  ++state.parts->in_flight;
  state.ran = state.current().id;
  return Status();
}

// Returns the recording of the last run; null before the first run. Fails while a run is in flight,
// or if the recording is no longer cached.
Result<const Recording*> LastRecording(const ModelState& state) {
  SPIRLOOM_TRY(state.runtime->device->CheckAlive());
  if (state.finished != state.submitted) {
    return Error(StatusCode::kBusy,
                 {"Run ", state.submitted,
                  " of the model is in flight. Wait for it before reading its times."});
  }
  if (state.finished == 0) return nullptr;
  const auto found = std::ranges::find(state.recordings, state.ran, &Recording::id);
  if (found == state.recordings.end()) {
    return Error(StatusCode::kInvalidArgument, {"The times of run ", state.finished,
                                                " are not available: its shapes are not among the ",
                                                state.options.max_cached_shapes,
                                                " cached ones. Read them before Resize(), or raise "
                                                "ModelOptions::max_cached_shapes."});
  }
  return &*found;
}

}  // namespace

Status CheckIdle(const ModelState& state) {
  SPIRLOOM_TRY(state.runtime->device->CheckAlive());
  if (state.submitted == state.finished) return Status();
  return Error(StatusCode::kBusy,
               {"Run ", state.submitted,
                " of the model is in flight. Wait for it, or load the model twice for concurrent "
                "runs."});
}

Status SubmitRun(ModelState& state) { return SubmitRun(state, NoSemaphores()); }

Status SubmitRepeated(ModelState& state, size_t steps) {
  constexpr size_t kMaxSteps = 65536;
  if (steps == 0 || steps > kMaxSteps) {
    return Error(StatusCode::kInvalidArgument,
                 {"Number of steps is ", steps, "; expected 1 to ", kMaxSteps, "."});
  }
  if (steps > 1 && state.current().states.empty()) {
    return Error(StatusCode::kInvalidArgument,
                 {"SubmitRepeated() with ", steps,
                  " steps requires a model with states; this model has none."});
  }
  return SubmitRun(state, NoSemaphores(), steps);
}

Status SubmitRun(ModelState& state, VkSubmitInfo info, size_t steps) {
  SPIRLOOM_TRY(CheckIdle(state));
  SPIRLOOM_TRY(UpdateCopies(state));
  Submission submission(state);
  submission.AddInputs();
  return Complete(state, submission, info, steps);
}

Status SubmitRun(ModelState& state, std::span<const std::span<const std::byte>> inputs) {
  SPIRLOOM_TRY(CheckIdle(state));
  SPIRLOOM_TRY(CheckInputs(state, inputs));
  SPIRLOOM_TRY(UpdateCopies(state));
  Submission submission(state);
  SPIRLOOM_TRY(submission.AddInputs(inputs));
  return Complete(state, submission, NoSemaphores(), /*steps=*/1);
}

Status FinishRun(ModelState& state, uint64_t run) {
  assert(state.finished <= state.submitted && run <= state.submitted);
  if (run > state.finished) {
    state.finished = state.submitted;
    --state.parts->in_flight;
    state.last_run = Status::OutOfMemory();  // if the next line throws std::bad_alloc
    state.last_run = state.last_fence().Wait();
  }
  return run == state.finished ? state.last_run : Status();
}

Status FinishRun(ModelState& state, uint64_t run, std::span<const std::span<std::byte>> outputs) {
  if (run != state.submitted) {
    return Error(StatusCode::kBusy, {"The results of run ", run, " were overwritten by run ",
                                     state.submitted, ". Read them before the next run."});
  }
  if (state.ran != state.current().id) {
    return Error(StatusCode::kBusy, {"The results of run ", run,
                                     " are not available after Resize(). Read them before."});
  }
  SPIRLOOM_TRY(CheckOutputs(state, outputs));
  if (run == state.finished) SPIRLOOM_TRY(FinishRun(state, run));  // returns the status of the run
  Status status = Guarded([&] { return TakeOutputs(state, outputs); });
  SPIRLOOM_TRY(FinishRun(state, run));
  return status;
}

Status RunModel(ModelState& state, std::span<const std::span<const std::byte>> inputs,
                std::span<const std::span<std::byte>> outputs) {
  SPIRLOOM_TRY(CheckOutputs(state, outputs));
  SPIRLOOM_TRY(SubmitRun(state, inputs));
  return FinishRun(state, state.submitted, outputs);
}

Result<std::vector<DispatchProfile>> ReadProfile(const ModelState& state) {
  SPIRLOOM_TRY_ASSIGN(const Recording* recording, LastRecording(state));
  if (recording == nullptr) return state.current().profile;
  std::vector<DispatchProfile> profile = recording->profile;
  if (!state.options.profile || !recording->timestamps) return profile;
  SPIRLOOM_TRY_ASSIGN(const std::vector<uint64_t> times,
                      recording->timestamps->Read(static_cast<uint32_t>(2 * profile.size())));
  for (size_t i = 0; i < profile.size(); ++i) {
    profile[i].start_ns = times[2 * i];
    profile[i].gpu_ns = vulkan::Elapsed(times[2 * i], times[2 * i + 1]);
  }
  return profile;
}

Result<uint64_t> ReadGpuTime(const ModelState& state) {
  if (!state.options.time_runs && !state.options.profile) {
    return Error(StatusCode::kInvalidArgument,
                 {"GPU times require ModelOptions::time_runs at loading."});
  }
  SPIRLOOM_TRY_ASSIGN(const Recording* recording, LastRecording(state));
  if (recording == nullptr || !recording->timestamps) return uint64_t{0};
  const vulkan::TimestampPool& timestamps = *recording->timestamps;
  SPIRLOOM_TRY_ASSIGN(const std::vector<uint64_t> times, timestamps.Read(timestamps.count()));
  return times.back();
}

}  // namespace spirloom::internal
