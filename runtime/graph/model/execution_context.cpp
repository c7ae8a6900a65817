#include "runtime/graph/model/execution_context.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::internal {
namespace {

using vulkan::MemoryUse;

// Checks the shapes of a model with fixed shapes.
Status CheckFixedShapes(const ExecutionContext& context, std::span<const Shape> shapes,
                        std::span<const int64_t> ints) {
  const std::vector<TensorInfo>& inputs = context.compiled().input_infos;
  for (size_t i = 0; i < std::max(shapes.size(), inputs.size()); ++i) {
    if (i < shapes.size() && i < inputs.size() && shapes[i] == inputs[i].shape) continue;
    const std::string actual = i < shapes.size() ? ToString(shapes[i]) : "none";
    const std::string expected = i < inputs.size() ? ToString(inputs[i].shape) : "none";
    return Error(StatusCode::kInvalidArgument, "Shape {} is {}; expected {}{}", i, actual, expected,
                 context.method->symbols().empty()
                     ? ". The model has no dynamic shapes. Import it with --dim NAME=MIN..MAX."
                     : ". The model's shapes have been fixed.");
  }
  const std::span<const IntInputInfo> infos = context.method->int_inputs();
  const std::vector<int64_t> expected = IntValuesOf(context);
  if (ints.size() != infos.size()) {
    return Error(StatusCode::kInvalidArgument,
                 "Number of integers is {}; expected {}, one per integer input.", ints.size(),
                 infos.size());
  }
  for (size_t i = 0; i < ints.size(); ++i) {
    if (ints[i] == expected[i]) continue;
    return Error(StatusCode::kInvalidArgument,
                 "Integer input {} is {}; expected {}. The model's shapes have been fixed.",
                 Quoted{infos[i].name}, ints[i], expected[i]);
  }
  return Status();
}

}  // namespace

ContextMemory::ContextMemory(const vulkan::Device& device,
                             std::shared_ptr<graph::MemoryBudget> used_budget, bool is_additional)
    : budget(std::move(used_budget)),
      additional(is_additional),
      activations(device, MemoryUse::kDevice, budget),
      transfers(device, budget) {
  if (additional) budget->AddContext();
}

ContextMemory::~ContextMemory() {
  if (additional) budget->RemoveContext();
}

ExecutionContext::ExecutionContext(std::shared_ptr<LoadedModel> used_model,
                                   std::shared_ptr<Method> used_method,
                                   std::shared_ptr<ContextMemory> used_memory)
    : model(std::move(used_model)),
      method(std::move(used_method)),
      memory(std::move(used_memory)),
      input_memory(device(), direct() ? MemoryUse::kUpload : MemoryUse::kDevice, model->budget),
      output_memory(device(), direct() ? MemoryUse::kReadback : MemoryUse::kDevice, model->budget) {
}

Result<std::shared_ptr<ExecutionContext>> LoadContext(std::shared_ptr<RuntimeState> runtime,
                                                      const graph::GraphSource& source,
                                                      std::unique_ptr<const graph::Graph> graph,
                                                      const ModelOptions& options,
                                                      const DeviceConfig& config) {
  SPIRLOOM_TRY_ASSIGN(const std::shared_ptr<LoadedModel> model,
                      LoadedModel::Create(std::move(runtime), source, *graph, options, config));
  auto memory = std::make_shared<ContextMemory>(*model->runtime->device, model->budget,
                                                /*is_additional=*/false);
  return CreateContext(model, model->AddMethod(std::move(graph)), std::move(memory));
}

Result<std::shared_ptr<ExecutionContext>> CreateContext(std::shared_ptr<LoadedModel> model,
                                                        std::shared_ptr<Method> method,
                                                        std::shared_ptr<ContextMemory> memory) {
  SPIRLOOM_TRY(model->runtime->device->CheckAlive());
  if (memory == nullptr) {
    memory = std::make_shared<ContextMemory>(*model->runtime->device, model->budget,
                                             /*is_additional=*/true);
  }
  auto context =
      std::make_shared<ExecutionContext>(std::move(model), std::move(method), std::move(memory));
  SPIRLOOM_TRY_ASSIGN(Compilation compilation, context->method->CompileForMax());
  SPIRLOOM_TRY(Record(*context, std::move(compilation)));
  return context;
}

uint64_t LiveConstantBytes(ExecutionContext& context) {
  std::erase_if(context.constants, [](const auto& block) { return block.expired(); });
  uint64_t bytes = 0;
  for (const auto& block : context.constants) {
    const auto memory = block.lock();
    if (memory != nullptr) bytes += memory->size();
  }
  return bytes;
}

std::vector<int64_t> IntValuesOf(const ExecutionContext& context) {
  return context.method->IntValues(context.compiled().sizes);
}

Status ResizeContext(ExecutionContext& context, std::span<const Shape> shapes) {
  return ResizeContext(context, shapes, IntValuesOf(context));
}

Status ResizeContext(ExecutionContext& context, std::span<const Shape> shapes,
                     std::span<const int64_t> ints) {
  SPIRLOOM_TRY(CheckIdle(context));
  if (context.method->is_fixed()) return CheckFixedShapes(context, shapes, ints);
  SPIRLOOM_TRY_ASSIGN(const std::vector<int64_t> sizes, context.method->Solve(shapes, ints));
  std::list<RecordedGraph>& recordings = context.recordings;
  const auto found = std::ranges::find_if(recordings, [&](const RecordedGraph& recording) {
    return recording.compiled->sizes == sizes;
  });
  if (found != recordings.end()) {
    recordings.splice(recordings.begin(), recordings, found);
    recordings.front().stats.constant_bytes = LiveConstantBytes(context);
    return Status();
  }
  SPIRLOOM_TRY_ASSIGN(Compilation compilation, context.method->Compile(sizes));
  SPIRLOOM_TRY(Record(context, std::move(compilation)));
  const size_t cached = std::max<size_t>(context.model->options.max_cached_shapes, 1);
  if (recordings.size() > cached) {
    recordings.pop_back();
    recordings.front().stats.constant_bytes = LiveConstantBytes(context);
  }
  return Status();
}

}  // namespace spirloom::internal
