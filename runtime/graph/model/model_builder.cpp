// Builds and resizes models.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/graph/file/specialize.h"
#include "runtime/graph/model/model_state.h"
#include "runtime/graph/record/traits_of_device.h"

namespace spirloom::internal {
namespace {

// Checks the shapes of a model without symbols.
Status CheckFixedShapes(const ModelState& state, std::span<const Shape> shapes) {
  const std::vector<TensorInfo>& inputs = state.current().input_infos;
  for (size_t i = 0; i < std::max(shapes.size(), inputs.size()); ++i) {
    if (i < shapes.size() && i < inputs.size() && shapes[i] == inputs[i].shape) continue;
    const std::string actual = i < shapes.size() ? ToString(shapes[i]) : "none";
    const std::string expected = i < inputs.size() ? ToString(inputs[i].shape) : "none";
    return Error(StatusCode::kInvalidArgument,
                 {"Shape ", i, " is ", actual, "; expected ", expected,
                  ". The model has no dynamic shapes. Import it with --dim NAME=MIN..MAX."});
  }
  return Status();
}

// Identifies the constants of a file: their digest, which the file declares, and a hash of their
// sizes and of the first and last bytes of each. Empty for a file without digest.
std::vector<uint8_t> IdentityOf(const graph::Graph& graph) {
  if (graph.digest.empty()) return {};
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&hash](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
    }
  };
  for (const std::span<const std::byte> constant : graph.constants) {
    const uint64_t size = constant.size();
    const size_t sample = std::min<size_t>(constant.size(), 64);
    add(std::as_bytes(std::span(&size, 1)));
    add(constant.first(sample));
    add(constant.last(sample));
  }
  std::vector<uint8_t> identity = graph.digest;
  for (int shift = 0; shift < 64; shift += 8) {
    identity.push_back(static_cast<uint8_t>(hash >> shift));
  }
  return identity;
}

Status CheckSharing(const ModelState& share_with, const RuntimeState& runtime,
                    const std::vector<uint8_t>& identity) {
  const bool same_file = !identity.empty() && share_with.identity == identity;
  if (same_file && share_with.runtime.get() == &runtime) return Status();
  return Error(
      StatusCode::kInvalidArgument,
      {"ModelOptions::share_with is a model of another file or runtime. Load both models from "
       "the same file in the same runtime."});
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
                                               const ops::DeviceProperties* properties,
                                               const ModelState* share_with) {
  SPIRLOOM_TRY(runtime->device->CheckAlive());
  graph::DeviceTraits traits = graph::TraitsOf(*runtime->device);
  if (properties != nullptr) {
    traits.properties = *properties;
    traits.large_grid_per_core = 0;
  }
  std::vector<uint8_t> identity = IdentityOf(graph);
  if (share_with != nullptr) SPIRLOOM_TRY(CheckSharing(*share_with, *runtime, identity));
  auto state = std::make_unique<ModelState>(std::move(runtime), options, access, watch, traits,
                                            LimitsFor(graph, options),
                                            share_with == nullptr ? nullptr : share_with->parts);
  state->method = graph.name;
  state->methods = graph.methods;
  state->identity = std::move(identity);
  state->attachments = graph.attachments;
  state->state_set = share_with == nullptr || options.separate_states ? state->parts->state_sets++
                                                                      : share_with->state_set;
  const vulkan::Device& device = *state->runtime->device;
  SPIRLOOM_TRY_ASSIGN(state->dummy,
                      vulkan::Buffer::Create(device, /*size=*/256, vulkan::MemoryUse::kDevice));
  for (const graph::Symbol& symbol : graph.symbols) {
    state->symbols.push_back({symbol.name, symbol.min, symbol.max});
  }
  SPIRLOOM_TRY_ASSIGN(Recording max, Record(*state, graph));
  max.sizes = graph::MaxValues(graph.symbols);
  state->recordings.push_front(std::move(max));
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
                      graph::SolveSymbols(*state.graph, shapes, state.options.allow_exceeding_max));
  std::list<Recording>& recordings = state.recordings;
  const auto found = std::ranges::find(recordings, sizes, &Recording::sizes);
  if (found != recordings.end()) {
    recordings.splice(recordings.begin(), recordings, found);
    return Status();
  }
  SPIRLOOM_TRY_ASSIGN(const graph::Graph specialized, graph::Specialize(*state.graph, sizes));
  SPIRLOOM_TRY_ASSIGN(Recording recording, Record(state, specialized));
  recording.sizes = sizes;
  recordings.push_front(std::move(recording));
  if (recordings.size() > std::max<size_t>(state.options.max_cached_shapes, 1))
    recordings.pop_back();
  return Status();
}

}  // namespace spirloom::internal
