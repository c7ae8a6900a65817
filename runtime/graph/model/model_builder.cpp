// How a model comes to be, and takes other sizes.
#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/graph/file/specialize.h"
#include "runtime/graph/model/model_state.h"

namespace spirloom::internal {
namespace {

// Of a model without symbols.
Status CheckFixedShapes(const ModelState& state, std::span<const Shape> shapes) {
  const std::vector<TensorInfo>& inputs = state.current().input_infos;
  for (size_t i = 0; i < std::max(shapes.size(), inputs.size()); ++i) {
    if (i < shapes.size() && i < inputs.size() && shapes[i] == inputs[i].shape) continue;
    const std::string given = i < shapes.size() ? ToString(shapes[i]) : "none";
    const std::string own = i < inputs.size() ? ToString(inputs[i].shape) : "none";
    return Error(StatusCode::kInvalidArgument,
                 {"Shape ", i, " (", given, ") differs from the input's (", own,
                  "), and the model has no sizes that vary. Import it with some: --dim "
                  "NAME=LEAST..GREATEST."});
  }
  return Status();
}

Status CheckSharing(const ModelState& shares, const RuntimeState& runtime,
                    const graph::Graph& graph) {
  const bool same_file = !graph.digest.empty() && shares.digest == graph.digest;
  if (same_file && shares.runtime.get() == &runtime) return Status();
  return Error(StatusCode::kInvalidArgument,
               {"The model to share with is of another file or runtime. Load both from one file, "
                "by one runtime."});
}

}  // namespace

graph::Limits LimitsFor(const graph::Graph& graph, const ModelOptions& options) {
  graph::Limits limits = graph::Limits::Of(graph);
  if (options.max_dispatches > 0) limits.dispatches = options.max_dispatches;
  if (options.max_device_bytes > 0) limits.device_bytes = options.max_device_bytes;
  return limits;
}

HostAccess BestHostAccess(const RuntimeState& runtime) {
  return runtime.device->unified_memory() ? HostAccess::kDirect : HostAccess::kStaged;
}

Result<std::unique_ptr<ModelState>> BuildModel(std::shared_ptr<RuntimeState> runtime,
                                               const graph::Graph& graph,
                                               const ModelOptions& options, HostAccess access,
                                               graph::TensorWatch* watch,
                                               const ops::DeviceFacts* facts,
                                               const ModelState* shares) {
  SPIRLOOM_TRY(runtime->device->CheckAlive());
  graph::DeviceTraits traits = graph::DeviceTraits::Of(*runtime->device);
  if (facts != nullptr) {
    traits.facts = *facts;
    traits.long_grid = 1;
  }
  if (shares != nullptr) SPIRLOOM_TRY(CheckSharing(*shares, *runtime, graph));
  auto state = std::make_unique<ModelState>(std::move(runtime), options, access, watch, traits,
                                            LimitsFor(graph, options),
                                            shares == nullptr ? nullptr : shares->parts);
  state->method = graph.name;
  state->methods = graph.methods;
  state->digest = graph.digest;
  state->attachments = graph.attachments;
  state->state_set =
      shares == nullptr || options.own_states ? state->parts->state_sets++ : shares->state_set;
  const vulkan::Device& device = *state->runtime->device;
  SPIRLOOM_TRY_ASSIGN(state->dummy,
                      vulkan::Buffer::Create(device, /*size=*/256, vulkan::MemoryUse::kDevice));
  for (const graph::Symbol& symbol : graph.symbols) {
    state->symbols.push_back({symbol.name, symbol.least, symbol.greatest});
  }
  SPIRLOOM_TRY_ASSIGN(Recording greatest, Record(*state, graph));
  greatest.sizes = graph::GreatestValues(graph.symbols);
  state->recordings.push_front(std::move(greatest));
  state->initial_states = std::vector<std::vector<std::byte>>(graph.states.size());
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const int32_t constant = graph.tensors[graph.states[i]].initial;
    if (constant < 0) continue;
    const std::span<const std::byte> bytes = graph.constants[static_cast<size_t>(constant)];
    state->initial_states[i].assign(bytes.begin(), bytes.end());
  }
  return state;
}

Status ResizeModel(ModelState& state, std::span<const Shape> shapes) {
  SPIRLOOM_TRY(CheckIdle(state));
  if (state.graph == nullptr) return CheckFixedShapes(state, shapes);
  SPIRLOOM_TRY_ASSIGN(const std::vector<int64_t> sizes,
                      graph::SolveSymbols(*state.graph, shapes, state.options.above_greatest));
  std::list<Recording>& recordings = state.recordings;
  const auto found = std::ranges::find(recordings, sizes, &Recording::sizes);
  if (found != recordings.end()) {
    recordings.splice(recordings.begin(), recordings, found);
    return Status();
  }
  SPIRLOOM_TRY_ASSIGN(const graph::Graph special, graph::Specialize(*state.graph, sizes));
  SPIRLOOM_TRY_ASSIGN(Recording made, Record(state, special));
  made.sizes = sizes;
  recordings.push_front(std::move(made));
  if (recordings.size() > std::max<size_t>(state.options.kept_sizes, 1)) recordings.pop_back();
  return Status();
}

}  // namespace spirloom::internal
