// Loading, properties, states and statistics of models.
#include "runtime/c/model.h"

#include <utility>

#include "runtime/base/error.h"
#include "runtime/c/enums.h"
#include "runtime/c/error.h"
#include "runtime/c/model_options.h"
#include "runtime/c/runtime.h"
#include "runtime/c/sized.h"

using spirloom::Model;
using spirloom::ModelOptions;
using spirloom::Status;
using spirloom::TensorInfo;
namespace c = spirloom::c;

namespace spirloom::c {

void DimStrings::Set(std::span<const TensorInfo> infos) {
  strings_.resize(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    strings_[i].clear();
    for (const std::string& dim : infos[i].dims) strings_[i].push_back(dim.c_str());
  }
}

}  // namespace spirloom::c

spirloom_model::spirloom_model(Model new_model) : model(std::move(new_model)) { UpdateInfos(); }

void spirloom_model::UpdateInfos() {
  input_dims.Set(model.inputs());
  output_dims.Set(model.outputs());
  state_dims.Set(model.states());
}

namespace {

spirloom_tensor_info Info(const TensorInfo& info, const char* const* dims) {
  return {.struct_size = sizeof(spirloom_tensor_info),
          .name = info.name.c_str(),
          .dtype = c::ToC(info.dtype),
          .shape = info.shape.data(),
          .dims = dims,
          .rank = info.shape.size(),
          .size = info.size,
          .min = info.min,
          .max = info.max};
}

// Reads one shape per input of `model`.
Status ReadShapes(const spirloom_model& model, const spirloom_shape* shapes, size_t count,
                  std::vector<spirloom::Shape>& read) {
  SPIRLOOM_TRY(c::CheckArray("shapes", shapes, count));
  SPIRLOOM_TRY(c::CheckCount("shape", count, model.model.inputs().size()));
  for (const spirloom_shape& shape : std::span(shapes, count)) {
    if (shape.rank > spirloom::kMaxRank) {
      return spirloom::Error(spirloom::StatusCode::kInvalidArgument,
                             "Rank ({}) of shape {} exceeds {}.", shape.rank, read.size(),
                             spirloom::kMaxRank);
    }
    SPIRLOOM_TRY(c::CheckArray("sizes", shape.sizes, shape.rank));
    read.emplace_back(shape.sizes, shape.sizes + shape.rank);
  }
  return Status();
}

std::span<const std::byte> Bytes(const void* file, size_t size) {
  return {static_cast<const std::byte*>(file), size};
}

// Implements `function`, which loads a file from memory by load(options).
template <typename Load>
spirloom_status LoadBytes(const char* function, const spirloom_runtime* runtime, const void* file,
                          const spirloom_model_options* options, spirloom_model** model,
                          spirloom_error** error, const Load& load) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers(function, {{"runtime", runtime}, {"file", file}, {"model", model}}));
    *model = nullptr;
    SPIRLOOM_TRY_ASSIGN(const ModelOptions given, c::ReadModelOptions(options));
    SPIRLOOM_TRY_ASSIGN(Model loaded, load(given));
    *model = new spirloom_model(std::move(loaded));
    return Status();
  });
}

}  // namespace

spirloom_status spirloom_model_load(const spirloom_runtime* runtime, const char* path,
                                    const spirloom_model_options* options, spirloom_model** model,
                                    spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_load",
                                  {{"runtime", runtime}, {"path", path}, {"model", model}}));
    *model = nullptr;
    SPIRLOOM_TRY_ASSIGN(const ModelOptions given, c::ReadModelOptions(options));
    SPIRLOOM_TRY_ASSIGN(Model loaded, Model::Load(runtime->runtime, path, given));
    *model = new spirloom_model(std::move(loaded));
    return Status();
  });
}

spirloom_status spirloom_model_load_from_memory(const spirloom_runtime* runtime, const void* file,
                                                size_t size, const spirloom_model_options* options,
                                                spirloom_model** model, spirloom_error** error) {
  return LoadBytes("spirloom_model_load_from_memory", runtime, file, options, model, error,
                   [&](const ModelOptions& given) {
                     return Model::LoadFromMemory(runtime->runtime, Bytes(file, size), given);
                   });
}

spirloom_status spirloom_model_load_from_borrowed_memory(const spirloom_runtime* runtime,
                                                         const void* file, size_t size,
                                                         const spirloom_model_options* options,
                                                         spirloom_model** model,
                                                         spirloom_error** error) {
  return LoadBytes("spirloom_model_load_from_borrowed_memory", runtime, file, options, model, error,
                   [&](const ModelOptions& given) {
                     return Model::LoadFromMemory(runtime->runtime, /*owner=*/nullptr,
                                                  Bytes(file, size), given);
                   });
}

size_t spirloom_model_method_count(const spirloom_model* model) {
  return model == nullptr ? 0 : model->model.methods().size();
}

const char* spirloom_model_method_name(const spirloom_model* model, size_t i) {
  if (i >= spirloom_model_method_count(model)) return "";
  return model->model.methods()[i].c_str();
}

const char* spirloom_model_method(const spirloom_model* model) {
  return model == nullptr ? "" : model->model.method().c_str();
}

void spirloom_model_destroy(spirloom_model* model) { delete model; }

size_t spirloom_model_input_count(const spirloom_model* model) {
  return model == nullptr ? 0 : model->model.inputs().size();
}

size_t spirloom_model_output_count(const spirloom_model* model) {
  return model == nullptr ? 0 : model->model.outputs().size();
}

spirloom_status spirloom_model_input(const spirloom_model* model, size_t i,
                                     spirloom_tensor_info* info, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_input", {{"model", model}, {"info", info}}));
    SPIRLOOM_TRY(c::CheckIndex("inputs", i, model->model.inputs().size()));
    return c::Write("spirloom_tensor_info", Info(model->model.inputs()[i], model->input_dims[i]),
                    info);
  });
}

spirloom_status spirloom_model_output(const spirloom_model* model, size_t i,
                                      spirloom_tensor_info* info, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_output", {{"model", model}, {"info", info}}));
    SPIRLOOM_TRY(c::CheckIndex("outputs", i, model->model.outputs().size()));
    return c::Write("spirloom_tensor_info", Info(model->model.outputs()[i], model->output_dims[i]),
                    info);
  });
}

size_t spirloom_model_symbol_count(const spirloom_model* model) {
  return model == nullptr ? 0 : model->model.symbols().size();
}

spirloom_status spirloom_model_symbol(const spirloom_model* model, size_t i,
                                      spirloom_symbol_info* info, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_symbol", {{"model", model}, {"info", info}}));
    SPIRLOOM_TRY(c::CheckIndex("symbols", i, model->model.symbols().size()));
    const spirloom::SymbolInfo& symbol = model->model.symbols()[i];
    return c::Write<spirloom_symbol_info>("spirloom_symbol_info",
                                          {.struct_size = sizeof(spirloom_symbol_info),
                                           .name = symbol.name.c_str(),
                                           .min = symbol.min,
                                           .max = symbol.max},
                                          info);
  });
}

spirloom_status spirloom_model_resize(spirloom_model* model, const spirloom_shape* shapes,
                                      size_t shape_count, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_resize", {{"model", model}}));
    std::vector<spirloom::Shape> given;
    SPIRLOOM_TRY(ReadShapes(*model, shapes, shape_count, given));
    SPIRLOOM_TRY(model->model.Resize(given));
    model->UpdateInfos();
    return Status();
  });
}

size_t spirloom_model_int_input_count(const spirloom_model* model) {
  return model == nullptr ? 0 : model->model.int_inputs().size();
}

spirloom_status spirloom_model_int_input(const spirloom_model* model, size_t i,
                                         spirloom_int_input_info* info, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_int_input", {{"model", model}, {"info", info}}));
    SPIRLOOM_TRY(c::CheckIndex("integer inputs", i, model->model.int_inputs().size()));
    const spirloom::IntInputInfo& input = model->model.int_inputs()[i];
    return c::Write<spirloom_int_input_info>("spirloom_int_input_info",
                                             {.struct_size = sizeof(spirloom_int_input_info),
                                              .name = input.name.c_str(),
                                              .min = input.min,
                                              .max = input.max,
                                              .value = model->model.IntValues()[i],
                                              .position = input.position},
                                             info);
  });
}

spirloom_status spirloom_model_set_int(spirloom_model* model, const char* name, int64_t value,
                                       spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_set_int", {{"model", model}, {"name", name}}));
    SPIRLOOM_TRY(model->model.SetInt(name, value));
    model->UpdateInfos();
    return Status();
  });
}

spirloom_status spirloom_model_resize_with_ints(spirloom_model* model, const spirloom_shape* shapes,
                                                size_t shape_count, const int64_t* ints,
                                                size_t int_count, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_resize_with_ints", {{"model", model}}));
    std::vector<spirloom::Shape> given;
    SPIRLOOM_TRY(ReadShapes(*model, shapes, shape_count, given));
    SPIRLOOM_TRY(c::CheckArray("ints", ints, int_count));
    SPIRLOOM_TRY(model->model.Resize(given, std::span(ints, int_count)));
    model->UpdateInfos();
    return Status();
  });
}

spirloom_status spirloom_model_fix_shapes(spirloom_model* model, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_fix_shapes", {{"model", model}}));
    model->model.FixShapes();
    return Status();
  });
}

size_t spirloom_model_state_count(const spirloom_model* model) {
  return model == nullptr ? 0 : model->model.states().size();
}

spirloom_status spirloom_model_state(const spirloom_model* model, size_t i,
                                     spirloom_tensor_info* info, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_state", {{"model", model}, {"info", info}}));
    SPIRLOOM_TRY(c::CheckIndex("states", i, model->model.states().size()));
    return c::Write("spirloom_tensor_info", Info(model->model.states()[i], model->state_dims[i]),
                    info);
  });
}

spirloom_status spirloom_model_reset_states(spirloom_model* model, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_reset_states", {{"model", model}}));
    return model->model.ResetStates();
  });
}

spirloom_status spirloom_model_read_state(const spirloom_model* model, size_t i,
                                          const spirloom_bytes* bytes, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_model_read_state", {{"model", model}, {"bytes", bytes}}));
    SPIRLOOM_TRY(c::CheckArray("data", bytes->data, bytes->size));
    return model->model.ReadState(i, {static_cast<std::byte*>(bytes->data), bytes->size});
  });
}

spirloom_status spirloom_model_read_state_range(const spirloom_model* model, size_t i,
                                                size_t offset, const spirloom_bytes* bytes,
                                                spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_model_read_state_range", {{"model", model}, {"bytes", bytes}}));
    SPIRLOOM_TRY(c::CheckArray("data", bytes->data, bytes->size));
    return model->model.ReadState(i, offset, {static_cast<std::byte*>(bytes->data), bytes->size});
  });
}

spirloom_status spirloom_model_write_state(spirloom_model* model, size_t i,
                                           const spirloom_const_bytes* bytes,
                                           spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_model_write_state", {{"model", model}, {"bytes", bytes}}));
    SPIRLOOM_TRY(c::CheckArray("data", bytes->data, bytes->size));
    return model->model.WriteState(i, {static_cast<const std::byte*>(bytes->data), bytes->size});
  });
}

spirloom_status spirloom_model_stats(const spirloom_model* model, spirloom_load_stats* stats,
                                     spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_stats", {{"model", model}, {"stats", stats}}));
    const spirloom::LoadStats& s = model->model.stats();
    return c::Write<spirloom_load_stats>("spirloom_load_stats",
                                         {.struct_size = sizeof(spirloom_load_stats),
                                          .load_ns = s.load_ns,
                                          .pipeline_ns = s.pipeline_ns,
                                          .pipelines = s.pipelines,
                                          .dispatches = s.dispatches,
                                          .barriers = s.barriers,
                                          .submissions = s.submissions,
                                          .layout_copies = s.layout_copies,
                                          .aliased_views = s.aliased_views,
                                          .constant_bytes = s.constant_bytes,
                                          .planned_bytes = s.planned_bytes,
                                          .naive_bytes = s.naive_bytes,
                                          .live_bytes = s.live_bytes,
                                          .state_bytes = s.state_bytes},
                                         stats);
  });
}
