// A run of a loaded model.
#include <cstring>
#include <string>

#include "runtime/error.h"
#include "runtime/graph/model_state.h"

namespace spirloom::internal {
namespace {

Status CheckCount(const char* what, size_t count, size_t wanted) {
  if (count == wanted) return Status();
  return Status(
      StatusCode::kInvalidArgument,
      Concat({"Number of ", what, "s (", count, ") differs from the model's (", wanted, ")."}));
}

Status CheckSize(const char* what, const TensorInfo& info, size_t size) {
  if (size == info.size) return Status();
  return Error(StatusCode::kInvalidArgument,
               {"Size (", size, " bytes) of ", what, " ", graph::Quote(info.name),
                " differs from the model's (", info.size, " bytes, ", LongName(info.dtype), " ",
                ToString(info.shape), ")."});
}

Status CheckInputs(const ModelState& state, std::span<const std::span<const std::byte>> inputs) {
  SPIRLOOM_TRY(CheckCount("input", inputs.size(), state.input_infos.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    SPIRLOOM_TRY(CheckSize("input", state.input_infos[i], inputs[i].size()));
  }
  return Status();
}

Status CheckOutputs(const ModelState& state, std::span<const std::span<std::byte>> outputs) {
  SPIRLOOM_TRY(CheckCount("output", outputs.size(), state.output_infos.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    SPIRLOOM_TRY(CheckSize("output", state.output_infos[i], outputs[i].size()));
  }
  return Status();
}

}  // namespace

Status RunModel(ModelState& state, std::span<const std::span<const std::byte>> inputs,
                std::span<const std::span<std::byte>> outputs) {
  SPIRLOOM_TRY(CheckInputs(state, inputs));
  SPIRLOOM_TRY(CheckOutputs(state, outputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].empty()) {
      std::memcpy(state.inputs[i].data, inputs[i].data(), inputs[i].size());
    }
  }
  SPIRLOOM_TRY(state.runtime->device->Submit(state.commands->handle(), state.fence->handle()));
  SPIRLOOM_TRY(state.fence->WaitAndReset());
  state.has_run = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].empty()) {
      std::memcpy(outputs[i].data(), state.outputs[i].data, outputs[i].size());
    }
  }
  return Status();
}

}  // namespace spirloom::internal
