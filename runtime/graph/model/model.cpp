#include "spirloom/model.h"

#include <chrono>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/guarded.h"
#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/model/external.h"
#include "runtime/graph/model/model_state.h"
#include "runtime/graph/model/states.h"

namespace spirloom {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t NanosecondsSince(Clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// A graph, and the owner of the bytes of its constants.
struct OwnedGraph {
  std::shared_ptr<const void> owner;
  graph::Graph graph;
};

// A graph with symbols is kept, with its constants, for later Resize() calls.
Result<std::shared_ptr<internal::ModelState>> Build(const Runtime& runtime,
                                                    std::shared_ptr<const graph::Graph> graph,
                                                    const ModelOptions& options,
                                                    const internal::ModelState* shares,
                                                    Clock::time_point start) {
  SPIRLOOM_TRY_ASSIGN(std::shared_ptr<internal::ModelState> state,
                      internal::BuildModel(runtime.state(), *graph, options,
                                           internal::BestHostAccess(*runtime.state()),
                                           /*watch=*/nullptr, /*properties=*/nullptr, shares));
  if (!graph->symbols.empty()) state->graph = std::move(graph);
  state->recordings.front().stats.load_ns = NanosecondsSince(start);
  return state;
}

}  // namespace

Result<Model> Model::Load(const Runtime& runtime, const std::string& path,
                          const ModelOptions& options) {
  return Guarded([&]() -> Result<Model> {
    const Clock::time_point start = Clock::now();
    SPIRLOOM_TRY_ASSIGN(graph::LoadedGraph file, graph::LoadGraphFile(path, options.method));
    const auto loaded = std::make_shared<const graph::LoadedGraph>(std::move(file));
    auto state = Build(runtime, {loaded, &loaded->graph}, options, SharedWith(options), start);
    if (!state.ok()) return std::move(state).status().While(Concat({"loading ", path}));
    return Model(std::move(state).value());
  });
}

Result<Model> Model::LoadFromMemory(const Runtime& runtime, std::shared_ptr<const void> owner,
                                    std::span<const std::byte> file, const ModelOptions& options) {
  return Guarded([&]() -> Result<Model> {
    const Clock::time_point start = Clock::now();
    auto owned = std::make_shared<OwnedGraph>();
    owned->owner = std::move(owner);
    SPIRLOOM_TRY_ASSIGN(owned->graph, graph::ParseGraph(file, std::nullopt, options.method));
    SPIRLOOM_TRY_ASSIGN(
        std::shared_ptr<internal::ModelState> state,
        Build(runtime, {owned, &owned->graph}, options, SharedWith(options), start));
    return Model(std::move(state));
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
    SPIRLOOM_TRY_ASSIGN(const graph::Graph parsed,
                        graph::ParseGraph(file, std::nullopt, options.method));
    if (parsed.symbols.empty()) return LoadFromMemory(runtime, /*owner=*/nullptr, file, options);
    return LoadFromMemory(runtime, std::vector<std::byte>(file.begin(), file.end()), options);
  });
}

Model::Model(std::shared_ptr<internal::ModelState> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

std::span<const TensorInfo> Model::inputs() const { return state_->current().input_infos; }
std::span<const TensorInfo> Model::outputs() const { return state_->current().output_infos; }
const LoadStats& Model::stats() const { return state_->current().stats; }

const internal::ModelState* Model::SharedWith(const ModelOptions& options) {
  return options.share_with == nullptr ? nullptr : options.share_with->state_.get();
}

const std::string& Model::method() const { return state_->method; }
std::span<const std::string> Model::methods() const { return state_->methods; }

std::span<const Attachment> Model::attachments() const { return *state_->attachments; }

Result<std::vector<Attachment>> Model::ReadAttachments(const std::string& path) {
  return Guarded([&]() -> Result<std::vector<Attachment>> {
    SPIRLOOM_TRY_ASSIGN(const graph::LoadedGraph file, graph::LoadGraphFile(path));
    return *file.graph.attachments;
  });
}

std::span<const SymbolInfo> Model::symbols() const { return state_->symbols; }

std::span<const TensorInfo> Model::states() const { return state_->current().state_infos; }

Status Model::ResetStates() {
  return Guarded([&] { return internal::ResetStates(*state_); });
}

Status Model::ReadState(size_t i, std::span<std::byte> bytes) const {
  return Guarded([&] { return internal::ReadState(*state_, i, bytes); });
}

Status Model::ReadState(size_t i, size_t offset, std::span<std::byte> bytes) const {
  return Guarded([&] { return internal::ReadState(*state_, i, offset, bytes); });
}

Status Model::WriteState(size_t i, std::span<const std::byte> bytes) {
  return Guarded([&] { return internal::WriteState(*state_, i, bytes); });
}

Status Model::Resize(std::span<const Shape> shapes) {
  return Guarded([&]() -> Status {
    const Clock::time_point start = Clock::now();
    SPIRLOOM_TRY(internal::ResizeModel(*state_, shapes).While("resizing the model"));
    LoadStats& stats = state_->recordings.front().stats;
    if (stats.load_ns == 0) stats.load_ns = NanosecondsSince(start);
    return Status();
  });
}

Status Model::Run(std::span<const std::span<const std::byte>> inputs,
                  std::span<const std::span<std::byte>> outputs) {
  return Guarded([&]() -> Status { return internal::RunModel(*state_, inputs, outputs); });
}

std::span<std::byte> Model::InputBytes(size_t i) {
  return {state_->current().inputs[i].data, state_->current().inputs[i].size};
}

std::span<const std::byte> Model::OutputBytes(size_t i) const {
  return {state_->current().outputs[i].data, state_->current().outputs[i].size};
}

Status Model::Run() {
  return Guarded([&]() -> Status {
    SPIRLOOM_TRY(internal::SubmitRun(*state_));
    return internal::FinishRun(*state_, state_->submitted);
  });
}

Result<PendingRun> Model::Submit() {
  return Guarded([&]() -> Result<PendingRun> {
    SPIRLOOM_TRY(internal::SubmitRun(*state_));
    return PendingRun(state_, state_->submitted);
  });
}

Result<PendingRun> Model::Submit(std::span<const std::span<const std::byte>> inputs) {
  return Guarded([&]() -> Result<PendingRun> {
    SPIRLOOM_TRY(internal::SubmitRun(*state_, inputs));
    return PendingRun(state_, state_->submitted);
  });
}

Result<PendingRun> Model::SubmitRepeated(size_t steps) {
  return Guarded([&]() -> Result<PendingRun> {
    SPIRLOOM_TRY(internal::SubmitRepeated(*state_, steps));
    return PendingRun(state_, state_->submitted);
  });
}

Result<PendingRun> Model::Submit(const SubmitOptions& options) {
  return Guarded([&]() -> Result<PendingRun> {
    SPIRLOOM_TRY(internal::SubmitRun(*state_, options));
    return PendingRun(state_, state_->submitted);
  });
}

Status Model::BindInput(size_t i, const ExternalBuffer& buffer) {
  return Guarded([&] { return internal::BindBuffer(*state_, internal::Side::kInputs, i, buffer); });
}

Status Model::BindOutput(size_t i, const ExternalBuffer& buffer) {
  return Guarded(
      [&] { return internal::BindBuffer(*state_, internal::Side::kOutputs, i, buffer); });
}

// The const_cast is safe: inputs are only read.
Status Model::BindInput(size_t i, std::span<const std::byte> memory) {
  const std::span writable(const_cast<std::byte*>(memory.data()), memory.size());
  return Guarded(
      [&] { return internal::BindMemory(*state_, internal::Side::kInputs, i, writable); });
}

Status Model::BindOutput(size_t i, std::span<std::byte> memory) {
  return Guarded(
      [&] { return internal::BindMemory(*state_, internal::Side::kOutputs, i, memory); });
}

Result<std::vector<DispatchProfile>> Model::Profile() const {
  return Guarded(
      [&]() -> Result<std::vector<DispatchProfile>> { return internal::ReadProfile(*state_); });
}

Result<uint64_t> Model::GpuTime() const {
  return Guarded([&]() -> Result<uint64_t> { return internal::ReadGpuTime(*state_); });
}

}  // namespace spirloom
