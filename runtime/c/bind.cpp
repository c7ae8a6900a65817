// Binding of the application's memory and buffers, and runs with the application's semaphores.
#include <span>
#include <utility>
#include <vector>

#include "runtime/c/error.h"
#include "runtime/c/model.h"
#include "runtime/c/pending_run.h"
#include "runtime/c/sized.h"
#include "spirloom/spirloom_vulkan.h"
#include "spirloom/vulkan.h"

using spirloom::ExternalBuffer;
using spirloom::PendingRun;
using spirloom::Result;
using spirloom::SemaphorePoint;
using spirloom::Status;
namespace c = spirloom::c;

namespace {

Status CheckInput(const char* function, const spirloom_model* model, size_t i) {
  SPIRLOOM_TRY(c::CheckPointers(function, {{"model", model}}));
  return c::CheckIndex("inputs", i, model->model.inputs().size());
}

Status CheckOutput(const char* function, const spirloom_model* model, size_t i) {
  SPIRLOOM_TRY(c::CheckPointers(function, {{"model", model}}));
  return c::CheckIndex("outputs", i, model->model.outputs().size());
}

Result<std::vector<SemaphorePoint>> ReadPoints(const char* name,
                                               const spirloom_semaphore_point* points,
                                               size_t count) {
  SPIRLOOM_TRY(c::CheckArray(name, points, count));
  std::vector<SemaphorePoint> result;
  for (const spirloom_semaphore_point& point : std::span(points, count)) {
    SemaphorePoint& last = result.emplace_back(SemaphorePoint{.semaphore = point.semaphore});
    if (point.timeline) last.value = point.value;
  }
  return result;
}

}  // namespace

spirloom_status spirloom_model_bind_input_memory(spirloom_model* model, size_t i, const void* data,
                                                 size_t size, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(CheckInput("spirloom_model_bind_input_memory", model, i));
    const size_t bound_size = data == nullptr ? 0 : size;
    return model->model.BindInput(i, std::span(static_cast<const std::byte*>(data), bound_size));
  });
}

spirloom_status spirloom_model_bind_output_memory(spirloom_model* model, size_t i, void* data,
                                                  size_t size, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(CheckOutput("spirloom_model_bind_output_memory", model, i));
    const size_t bound_size = data == nullptr ? 0 : size;
    return model->model.BindOutput(i, std::span(static_cast<std::byte*>(data), bound_size));
  });
}

spirloom_status spirloom_model_bind_input_buffer(spirloom_model* model, size_t i, VkBuffer buffer,
                                                 uint64_t offset, uint64_t size,
                                                 spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(CheckInput("spirloom_model_bind_input_buffer", model, i));
    return model->model.BindInput(i, ExternalBuffer{buffer, offset, size});
  });
}

spirloom_status spirloom_model_bind_output_buffer(spirloom_model* model, size_t i, VkBuffer buffer,
                                                  uint64_t offset, uint64_t size,
                                                  spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(CheckOutput("spirloom_model_bind_output_buffer", model, i));
    return model->model.BindOutput(i, ExternalBuffer{buffer, offset, size});
  });
}

spirloom_status spirloom_model_submit_with(spirloom_model* model,
                                           const spirloom_submit_options* options,
                                           spirloom_pending_run** run, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_submit_with",
                                  {{"model", model}, {"options", options}, {"run", run}}));
    *run = nullptr;
    spirloom_submit_options given{};
    SPIRLOOM_TRY(c::Read("spirloom_submit_options", options, given));
    SPIRLOOM_TRY_ASSIGN(const auto wait, ReadPoints("wait", given.wait, given.wait_count));
    SPIRLOOM_TRY_ASSIGN(const auto signal, ReadPoints("signal", given.signal, given.signal_count));
    SPIRLOOM_TRY_ASSIGN(PendingRun submitted,
                        model->model.Submit({.wait = wait, .signal = signal}));
    *run = new spirloom_pending_run{std::move(submitted), model->model.outputs().size()};
    return Status();
  });
}
