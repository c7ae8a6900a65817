#include "spirloom/model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/guarded.h"
#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/model/execution_context.h"
#include "runtime/graph/model/external.h"
#include "runtime/graph/model/states.h"

namespace spirloom {
namespace {

using Clock = std::chrono::steady_clock;

// Returns the first context of a method of `source`.
Result<std::shared_ptr<internal::ExecutionContext>> LoadMethod(
    const Runtime& runtime, const graph::GraphSource& source,
    std::unique_ptr<const graph::Graph> graph, const ModelOptions& options,
    Clock::time_point start) {
  SPIRLOOM_TRY_ASSIGN(std::shared_ptr<internal::ExecutionContext> context,
                      internal::LoadContext(runtime.state(), source, std::move(graph), options,
                                            internal::DeviceConfig::Of(*runtime.state())));
  context->recordings.front().stats.load_ns = internal::NanosecondsSince(start);
  return context;
}

}  // namespace

Result<Model> Model::Load(const Runtime& runtime, const std::string& path,
                          const ModelOptions& options) {
  return Guarded([&]() -> Result<Model> {
    const Clock::time_point start = Clock::now();
    SPIRLOOM_TRY_ASSIGN(const graph::GraphSource source, graph::MapGraphFile(path));
    auto graph = source.Parse(options.method);
    if (!graph.ok()) return While(std::move(graph).status(), "reading {}", path);
    auto context = LoadMethod(runtime, source, std::move(graph).value(), options, start);
    if (!context.ok()) return While(std::move(context).status(), "loading {}", path);
    return Model(std::move(context).value());
  });
}

Result<Model> Model::LoadFromMemory(const Runtime& runtime, std::shared_ptr<const void> owner,
                                    std::span<const std::byte> file, const ModelOptions& options) {
  return LoadFromMemory(runtime, std::move(owner), file, /*constants=*/{}, options);
}

Result<Model> Model::LoadFromMemory(const Runtime& runtime, std::shared_ptr<const void> owner,
                                    std::span<const std::byte> file,
                                    std::span<const std::span<const std::byte>> constants,
                                    const ModelOptions& options) {
  return Guarded([&]() -> Result<Model> {
    const Clock::time_point start = Clock::now();
    graph::GraphSource source{std::move(owner), file};
    source.constants = constants;
    SPIRLOOM_TRY_ASSIGN(auto graph, source.Parse(options.method));
    SPIRLOOM_TRY_ASSIGN(auto context,
                        LoadMethod(runtime, source, std::move(graph), options, start));
    return Model(std::move(context));
  });
}

Result<Model> Model::LoadFromMemory(const Runtime& runtime, std::vector<std::byte>&& file,
                                    const ModelOptions& options) {
  return Guarded([&]() -> Result<Model> {
    auto owned = std::make_shared<const std::vector<std::byte>>(std::move(file));
    const std::span<const std::byte> bytes = *owned;
    return LoadFromMemory(runtime, std::move(owned), bytes, options);
  });
}

Result<Model> Model::LoadFromMemory(const Runtime& runtime, std::span<const std::byte> file,
                                    const ModelOptions& options) {
  return Guarded([&]() -> Result<Model> {
    SPIRLOOM_TRY_ASSIGN(const graph::Graph graph,
                        graph::ParseGraph(file, std::nullopt, options.method));
    if (!graph::Weights::IsFileNeededLater(graph))
      return LoadFromMemory(runtime, /*owner=*/nullptr, file, options);
    return LoadFromMemory(runtime, std::vector<std::byte>(file.begin(), file.end()), options);
  });
}

Result<Model> Model::CreateContext(const ContextOptions& options) const {
  return Guarded([&]() -> Result<Model> {
    const Clock::time_point start = Clock::now();
    std::shared_ptr<internal::Method> method = context_->method;
    if (!options.method.empty() && options.method != method->name()) {
      SPIRLOOM_TRY_ASSIGN(method, context_->model->FindMethod(options.method));
    }
    SPIRLOOM_TRY_ASSIGN(std::shared_ptr<internal::ExecutionContext> context,
                        internal::CreateContext(context_->model, std::move(method),
                                                options.share_states ? context_->memory : nullptr));
    context->recordings.front().stats.load_ns = internal::NanosecondsSince(start);
    return Model(std::move(context));
  });
}

Model::Model(std::shared_ptr<internal::ExecutionContext> context) : context_(std::move(context)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

std::span<const TensorInfo> Model::inputs() const { return context_->compiled().input_infos; }
std::span<const TensorInfo> Model::outputs() const { return context_->compiled().output_infos; }
const LoadStats& Model::stats() const { return context_->current().stats; }

const std::string& Model::method() const { return context_->method->name(); }
std::span<const std::string> Model::methods() const { return context_->model->method_names; }

std::span<const Attachment> Model::attachments() const { return *context_->model->attachments; }

Result<std::vector<Attachment>> Model::ReadAttachments(const std::string& path) {
  return Guarded([&]() -> Result<std::vector<Attachment>> {
    SPIRLOOM_TRY_ASSIGN(const graph::GraphSource source, graph::MapGraphFile(path));
    const auto graph = source.Parse();
    if (!graph.ok()) return While(Status(graph.status()), "reading {}", path);
    return *(*graph)->attachments;
  });
}

std::span<const SymbolInfo> Model::symbols() const { return context_->method->symbols(); }

std::span<const IntInputInfo> Model::int_inputs() const { return context_->method->int_inputs(); }

std::vector<int64_t> Model::IntValues() const { return internal::IntValuesOf(*context_); }

std::span<const TensorInfo> Model::states() const { return context_->compiled().state_infos; }

Status Model::ResetStates() {
  return Guarded([&] { return internal::ResetStates(*context_); });
}

Status Model::ReadState(size_t i, std::span<std::byte> bytes) const {
  return Guarded([&] { return internal::ReadState(*context_, i, bytes); });
}

Status Model::ReadState(size_t i, size_t offset, std::span<std::byte> bytes) const {
  return Guarded([&] { return internal::ReadState(*context_, i, offset, bytes); });
}

Status Model::WriteState(size_t i, std::span<const std::byte> bytes) {
  return Guarded([&] { return internal::WriteState(*context_, i, bytes); });
}

Status Model::Resize(std::span<const Shape> shapes) {
  return Guarded([&]() -> Status { return Resize(shapes, internal::IntValuesOf(*context_)); });
}

Status Model::SetInt(std::string_view name, int64_t value) {
  return Guarded([&]() -> Status {
    const std::span<const IntInputInfo> infos = int_inputs();
    std::vector<int64_t> ints = internal::IntValuesOf(*context_);
    const auto found = std::ranges::find(infos, name, &IntInputInfo::name);
    if (found == infos.end()) {
      std::vector<std::string> known;
      for (const IntInputInfo& info : infos) known.push_back(Quote(info.name));
      return Error(StatusCode::kInvalidArgument,
                   "The model has no integer input {}. Integer inputs: {}.", Quoted{name},
                   known.empty() ? "none" : Join(known, ", "));
    }
    ints[static_cast<size_t>(found - infos.begin())] = value;
    std::vector<Shape> shapes;
    for (const TensorInfo& input : inputs()) shapes.push_back(input.shape);
    return Resize(shapes, ints);
  });
}

Status Model::Resize(std::span<const Shape> shapes, std::span<const int64_t> ints) {
  return Guarded([&]() -> Status {
    const Clock::time_point start = Clock::now();
    SPIRLOOM_TRY(internal::ResizeContext(*context_, shapes, ints).While("resizing the model"));
    LoadStats& stats = context_->recordings.front().stats;
    if (stats.load_ns == 0) stats.load_ns = internal::NanosecondsSince(start);
    return Status();
  });
}

void Model::FixShapes() { context_->method->Fix(context_->current().compiled); }

Status Model::Run(std::span<const std::span<const std::byte>> inputs,
                  std::span<const std::span<std::byte>> outputs) {
  return Guarded([&]() -> Status { return internal::RunModel(*context_, inputs, outputs); });
}

std::span<std::byte> Model::InputBytes(size_t i) {
  return {context_->current().inputs[i].data, context_->current().inputs[i].size};
}

std::span<const std::byte> Model::OutputBytes(size_t i) const {
  return {context_->current().outputs[i].data, context_->current().outputs[i].size};
}

Status Model::Run() {
  return Guarded([&]() -> Status {
    SPIRLOOM_TRY(internal::SubmitRun(*context_));
    return internal::FinishRun(*context_, context_->submitted);
  });
}

Result<PendingRun> Model::Submit() {
  return Guarded([&]() -> Result<PendingRun> {
    SPIRLOOM_TRY(internal::SubmitRun(*context_));
    return PendingRun(context_, context_->submitted);
  });
}

Result<PendingRun> Model::Submit(std::span<const std::span<const std::byte>> inputs) {
  return Guarded([&]() -> Result<PendingRun> {
    SPIRLOOM_TRY(internal::SubmitRun(*context_, inputs));
    return PendingRun(context_, context_->submitted);
  });
}

Result<PendingRun> Model::SubmitRepeated(size_t steps) {
  return Guarded([&]() -> Result<PendingRun> {
    SPIRLOOM_TRY(internal::SubmitRepeated(*context_, steps));
    return PendingRun(context_, context_->submitted);
  });
}

Result<PendingRun> Model::Submit(const SubmitOptions& options) {
  return Guarded([&]() -> Result<PendingRun> {
    SPIRLOOM_TRY(internal::SubmitRun(*context_, options));
    return PendingRun(context_, context_->submitted);
  });
}

Status Model::BindInput(size_t i, const ExternalBuffer& buffer) {
  return Guarded(
      [&] { return internal::BindBuffer(*context_, internal::Side::kInputs, i, buffer); });
}

Status Model::BindOutput(size_t i, const ExternalBuffer& buffer) {
  return Guarded(
      [&] { return internal::BindBuffer(*context_, internal::Side::kOutputs, i, buffer); });
}

// The const_cast is safe: inputs are only read.
Status Model::BindInput(size_t i, std::span<const std::byte> memory) {
  const std::span writable(const_cast<std::byte*>(memory.data()), memory.size());
  return Guarded(
      [&] { return internal::BindMemory(*context_, internal::Side::kInputs, i, writable); });
}

Status Model::BindOutput(size_t i, std::span<std::byte> memory) {
  return Guarded(
      [&] { return internal::BindMemory(*context_, internal::Side::kOutputs, i, memory); });
}

Result<std::vector<DispatchProfile>> Model::Profile() const {
  return Guarded(
      [&]() -> Result<std::vector<DispatchProfile>> { return internal::ReadProfile(*context_); });
}

Result<uint64_t> Model::GpuTime() const {
  return Guarded([&]() -> Result<uint64_t> { return internal::ReadGpuTime(*context_); });
}

}  // namespace spirloom
