// Synchronous and asynchronous runs.
#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/c/error.h"
#include "runtime/c/model.h"
#include "runtime/c/pending_run.h"
#include "runtime/c/run_bytes.h"

using spirloom::PendingRun;
using spirloom::Result;
using spirloom::Status;
namespace c = spirloom::c;

namespace {

// Without `inputs`, the run reads the input bytes.
Result<PendingRun> Submit(spirloom::Model& model, const spirloom_const_bytes* inputs,
                          size_t count) {
  if (inputs == nullptr && count == 0) return model.Submit();
  SPIRLOOM_TRY_ASSIGN(const c::InputSpans spans,
                      c::ReadInputs(inputs, count, model.inputs().size()));
  return model.Submit(spans);
}

Status Wait(PendingRun& run, const spirloom_bytes* outputs, size_t count, size_t expected) {
  if (outputs == nullptr && count == 0) return run.Wait();
  SPIRLOOM_TRY_ASSIGN(const c::OutputSpans spans, c::ReadOutputs(outputs, count, expected));
  return run.Wait(spans);
}

}  // namespace

spirloom_status spirloom_model_run(spirloom_model* model, const spirloom_const_bytes* inputs,
                                   size_t input_count, const spirloom_bytes* outputs,
                                   size_t output_count, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_run", {{"model", model}}));
    if (inputs != nullptr && outputs != nullptr) {  // check the outputs before the run
      SPIRLOOM_TRY_ASSIGN(const c::InputSpans in,
                          c::ReadInputs(inputs, input_count, model->model.inputs().size()));
      SPIRLOOM_TRY_ASSIGN(const c::OutputSpans out,
                          c::ReadOutputs(outputs, output_count, model->model.outputs().size()));
      return model->model.Run(in, out);
    }
    SPIRLOOM_TRY_ASSIGN(PendingRun run, Submit(model->model, inputs, input_count));
    return Wait(run, outputs, output_count, model->model.outputs().size());
  });
}

spirloom_status spirloom_model_input_bytes(spirloom_model* model, size_t i, spirloom_bytes* bytes,
                                           spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_model_input_bytes", {{"model", model}, {"bytes", bytes}}));
    *bytes = {};
    SPIRLOOM_TRY(c::CheckIndex("inputs", i, model->model.inputs().size()));
    const std::span<std::byte> span = model->model.InputBytes(i);
    *bytes = {span.data(), span.size()};
    return Status();
  });
}

spirloom_status spirloom_model_output_bytes(const spirloom_model* model, size_t i,
                                            spirloom_const_bytes* bytes, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_model_output_bytes", {{"model", model}, {"bytes", bytes}}));
    *bytes = {};
    SPIRLOOM_TRY(c::CheckIndex("outputs", i, model->model.outputs().size()));
    const std::span<const std::byte> span = model->model.OutputBytes(i);
    *bytes = {span.data(), span.size()};
    return Status();
  });
}

spirloom_status spirloom_model_submit(spirloom_model* model, const spirloom_const_bytes* inputs,
                                      size_t input_count, spirloom_pending_run** run,
                                      spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_submit", {{"model", model}, {"run", run}}));
    *run = nullptr;
    SPIRLOOM_TRY_ASSIGN(PendingRun submitted, Submit(model->model, inputs, input_count));
    *run = new spirloom_pending_run{std::move(submitted), model->model.outputs().size()};
    return Status();
  });
}

spirloom_status spirloom_model_submit_repeated(spirloom_model* model, size_t count,
                                               spirloom_pending_run** run, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_model_submit_repeated", {{"model", model}, {"run", run}}));
    *run = nullptr;
    SPIRLOOM_TRY_ASSIGN(PendingRun submitted, model->model.SubmitRepeated(count));
    *run = new spirloom_pending_run{std::move(submitted), model->model.outputs().size()};
    return Status();
  });
}

void spirloom_pending_run_destroy(spirloom_pending_run* run) { delete run; }

spirloom_status spirloom_pending_run_is_done(const spirloom_pending_run* run, bool* done,
                                             spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_pending_run_is_done", {{"run", run}, {"done", done}}));
    *done = false;
    SPIRLOOM_TRY_ASSIGN(*done, run->run.IsDone());
    return Status();
  });
}

spirloom_status spirloom_pending_run_wait(spirloom_pending_run* run, const spirloom_bytes* outputs,
                                          size_t output_count, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_pending_run_wait", {{"run", run}}));
    return Wait(run->run, outputs, output_count, run->output_count);
  });
}

spirloom_status spirloom_pending_run_wait_for(spirloom_pending_run* run, uint64_t timeout_ns,
                                              bool* ended, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_pending_run_wait_for", {{"run", run}, {"ended", ended}}));
    *ended = false;
    const uint64_t max = INT64_MAX;
    const std::chrono::nanoseconds timeout(static_cast<int64_t>(std::min(timeout_ns, max)));
    SPIRLOOM_TRY_ASSIGN(*ended, run->run.WaitFor(timeout));
    return Status();
  });
}
