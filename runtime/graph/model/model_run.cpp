// A run of a loaded model.
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

Status CheckCount(const char* what, size_t count, size_t wanted) {
  if (count == wanted) return Status();
  return Status(
      StatusCode::kInvalidArgument,
      Concat({"Number of ", what, "s (", count, ") differs from the model's (", wanted, ")."}));
}

Status CheckSize(const char* what, const TensorInfo& info, const Binding* binding, size_t size) {
  if (size == (binding == nullptr ? info.size : 0)) return Status();
  if (binding != nullptr) {
    return Error(StatusCode::kInvalidArgument,
                 {"The ", what, " ", graph::Quote(info.name),
                  " is bound to memory of the "
                  "application's, but ",
                  size, " bytes are passed for it. Pass an empty span."});
  }
  return Error(StatusCode::kInvalidArgument,
               {"Size (", size, " bytes) of ", what, " ", graph::Quote(info.name),
                " differs from the model's (", info.size, " bytes, ", LongName(info.dtype), " ",
                ToString(info.shape), ")."});
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

// What the last run was a run of; null before the first one. Fails while one is in flight, and when
// its sizes are not kept.
Result<const Recording*> LastRecording(const ModelState& state) {
  SPIRLOOM_TRY(state.runtime->device->CheckAlive());
  if (state.finished != state.submitted) {
    return Error(StatusCode::kBusy,
                 {"Run ", state.submitted,
                  " of the model is in flight; its times are there when it was waited for."});
  }
  if (state.finished == 0) return nullptr;
  const auto found = std::ranges::find(state.recordings, state.ran, &Recording::id);
  if (found == state.recordings.end()) {
    return Error(StatusCode::kInvalidArgument,
                 {"The times of run ", state.finished,
                  " are gone with its sizes, which are not "
                  "among the last ",
                  state.options.kept_sizes,
                  ". Take them before Resize(), or raise ModelOptions::kept_sizes."});
  }
  return &*found;
}

}  // namespace

Status CheckIdle(const ModelState& state) {
  SPIRLOOM_TRY(state.runtime->device->CheckAlive());
  if (state.submitted == state.finished) return Status();
  return Error(StatusCode::kBusy,
               {"Run ", state.submitted,
                " of the model is in flight. Wait for it first; to have two in flight, load the "
                "model twice."});
}

Status SubmitRun(ModelState& state) { return SubmitRun(state, NoSemaphores()); }

Status SubmitSteps(ModelState& state, size_t steps) {
  constexpr size_t kMost = 65536;
  if (steps == 0 || steps > kMost) {
    return Error(StatusCode::kInvalidArgument,
                 {"Number of steps (", steps, ") is not within 1 and ", kMost, "."});
  }
  if (steps > 1 && state.current().states.empty()) {
    return Error(StatusCode::kInvalidArgument,
                 {"The model has no states, so ", steps, " steps would all do the same."});
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
    state.last_run = Status::OutOfMemory();  // unless there is memory for what comes next
    state.last_run = state.last_fence().Wait();
  }
  return run == state.finished ? state.last_run : Status();
}

Status FinishRun(ModelState& state, uint64_t run, std::span<const std::span<std::byte>> outputs) {
  if (run != state.submitted) {
    return Error(StatusCode::kBusy, {"The results of run ", run, " are gone: the model has run ",
                                     state.submitted, " times. Take them before the next run."});
  }
  if (state.ran != state.current().id) {
    return Error(StatusCode::kBusy,
                 {"The results of run ", run,
                  " are gone: the model has other sizes now. Take them before Resize()."});
  }
  SPIRLOOM_TRY(CheckOutputs(state, outputs));
  if (run == state.finished) SPIRLOOM_TRY(FinishRun(state, run));  // how it ended
  Status taken = Guarded([&] { return TakeOutputs(state, outputs); });
  SPIRLOOM_TRY(FinishRun(state, run));
  return taken;
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
                 {"The model was loaded without ModelOptions::time_runs, so its runs have no "
                  "times."});
  }
  SPIRLOOM_TRY_ASSIGN(const Recording* recording, LastRecording(state));
  if (recording == nullptr || !recording->timestamps) return uint64_t{0};
  const vulkan::TimestampPool& timestamps = *recording->timestamps;
  SPIRLOOM_TRY_ASSIGN(const std::vector<uint64_t> times, timestamps.Read(timestamps.count()));
  return times.back();
}

}  // namespace spirloom::internal
