#include "spirloom/model.h"

#include <chrono>
#include <utility>

#include "runtime/graph/graph_loader.h"
#include "runtime/graph/model_state.h"
#include "runtime/text.h"

namespace spirloom {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::unique_ptr<internal::ModelState>> Build(const Runtime& runtime,
                                                    const graph::Graph& graph,
                                                    const ModelOptions& options,
                                                    Clock::time_point start) {
  SPIRLOOM_TRY_ASSIGN(std::unique_ptr<internal::ModelState> state,
                      internal::BuildModel(runtime.state(), graph, options,
                                           internal::BestHostAccess(*runtime.state())));
  state->stats.load_ns = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
  return state;
}

}  // namespace

Result<Model> Model::Load(const Runtime& runtime, const std::string& path,
                          const ModelOptions& options) {
  const Clock::time_point start = Clock::now();
  SPIRLOOM_TRY_ASSIGN(const graph::LoadedGraph loaded, graph::LoadGraphFile(path));
  auto state = Build(runtime, loaded.graph, options, start);
  if (!state.ok()) return std::move(state).status().While(Concat({"loading ", path}));
  return Model(std::move(state).value());
}

Result<Model> Model::LoadFromMemory(const Runtime& runtime, std::span<const std::byte> file,
                                    const ModelOptions& options) {
  const Clock::time_point start = Clock::now();
  SPIRLOOM_TRY_ASSIGN(const graph::Graph graph, graph::ParseGraph(file));
  SPIRLOOM_TRY_ASSIGN(std::unique_ptr<internal::ModelState> state,
                      Build(runtime, graph, options, start));
  return Model(std::move(state));
}

Model::Model(std::shared_ptr<internal::ModelState> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

std::span<const TensorInfo> Model::inputs() const { return state_->input_infos; }
std::span<const TensorInfo> Model::outputs() const { return state_->output_infos; }
const LoadStats& Model::stats() const { return state_->stats; }

Status Model::Run(std::span<const std::span<const std::byte>> inputs,
                  std::span<const std::span<std::byte>> outputs) {
  return internal::RunModel(*state_, inputs, outputs);
}

std::span<std::byte> Model::InputBytes(size_t i) {
  return {state_->inputs[i].data, state_->inputs[i].size};
}

std::span<const std::byte> Model::OutputBytes(size_t i) const {
  return {state_->outputs[i].data, state_->outputs[i].size};
}

Status Model::Run() {
  SPIRLOOM_TRY(internal::SubmitRun(*state_));
  return internal::FinishRun(*state_, state_->submitted);
}

Result<PendingRun> Model::Submit() {
  SPIRLOOM_TRY(internal::SubmitRun(*state_));
  return PendingRun(state_, state_->submitted);
}

Result<PendingRun> Model::Submit(std::span<const std::span<const std::byte>> inputs) {
  SPIRLOOM_TRY(internal::SubmitRun(*state_, inputs));
  return PendingRun(state_, state_->submitted);
}

Result<std::vector<DispatchProfile>> Model::Profile() const {
  if (state_->finished != state_->submitted) {
    return Status(StatusCode::kInvalidArgument,
                  "Run " + std::to_string(state_->submitted) +
                      " of the model is in flight; its times are there when it was waited for.");
  }
  std::vector<DispatchProfile> profile = state_->profile;
  if (!state_->timestamps || state_->finished == 0) return profile;
  SPIRLOOM_TRY_ASSIGN(const std::vector<uint64_t> times,
                      state_->timestamps->Read(static_cast<uint32_t>(2 * profile.size())));
  for (size_t i = 0; i < profile.size(); ++i) {
    profile[i].start_ns = times[2 * i];
    profile[i].gpu_ns = times[2 * i + 1] - times[2 * i];
  }
  return profile;
}

}  // namespace spirloom
