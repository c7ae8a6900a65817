#include "tools/spirloom-run/profile_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/path.h"
#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/file/specialize.h"
#include "runtime/graph/model/execution_context.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/graph/record/traits_of_device.h"
#include "runtime/session/runtime_state.h"
#include "tools/peaks/peaks_file.h"
#include "tools/plan/plan_facts.h"
#include "tools/shader-stats/statistics_device.h"
#include "tools/shader-stats/variant_statistics.h"
#include "tools/spirloom-run/text_output.h"

namespace spirloom::run {
namespace {

using nlohmann::ordered_json;

constexpr const char* kFormat = "spirloom-profile";
constexpr int kVersion = 1;
constexpr size_t kKeptRuns = 1000;  // times of older runs are dropped

// What accumulating runs does not compare: it differs between sessions.
constexpr const char* kChanging[] = {"samples", "timeline", "peaks", "producer"};

// The kernels that the calls of the model considered. Compiles the model again.
Result<std::vector<graph::CallTrials>> TrialsOf(const Options& options, const Runtime& runtime,
                                                const Model& model) {
  const internal::RuntimeState& state = *runtime.state();
  SPIRLOOM_TRY_ASSIGN(graph::LoadedGraph file, graph::LoadGraphFile(options.model, options.method));
  if (!file.graph.symbols.empty()) {
    std::vector<Shape> shapes;
    for (const TensorInfo& input : model.inputs()) shapes.push_back(input.shape);
    SPIRLOOM_TRY_ASSIGN(const std::vector<int64_t> sizes,
                        graph::SolveSymbols(file.graph, shapes, model.IntValues()));
    SPIRLOOM_TRY_ASSIGN(file.graph, graph::Specialize(file.graph, sizes));
  }
  std::vector<graph::CallTrials> trials;
  graph::CompileOptions compile;
  compile.storage = options.storage;
  compile.kernels = options.kernels;
  compile.tuned = state.tuning->kernels();
  compile.trials = &trials;
  const internal::DeviceConfig device = internal::DeviceConfig::Of(state);
  SPIRLOOM_TRY(graph::Compile(file.graph, state.index, device.traits, compile).status());
  return trials;
}

ordered_json MemoryFacts(const LoadStats& stats) {
  return {{"planned_bytes", stats.planned_bytes},
          {"live_bytes", stats.live_bytes},
          {"naive_bytes", stats.naive_bytes},
          {"constant_bytes", stats.constant_bytes},
          {"state_bytes", stats.state_bytes}};
}

std::optional<ordered_json> PeaksOf(const Options& options, const DeviceInfo& device) {
  const auto found = peaks::ReadPeaks(peaks::PeaksPath(options.cache_dir, device));
  if (!found) return std::nullopt;
  return ordered_json{{"read", found->read},
                      {"write", found->write},
                      {"copy", found->copy},
                      {"multiply_add", found->multiply_add},
                      {"dispatch_ns", found->dispatch_ns}};
}

ordered_json SamplesOf(std::span<const RunSample> runs, size_t dispatches) {
  ordered_json samples{{"runs", runs.size()},
                       {"gpu_ns", ordered_json::array()},
                       {"host_ns", ordered_json::array()},
                       {"dispatch_ns", ordered_json::array()}};
  for (size_t i = 0; i < dispatches; ++i) {
    ordered_json times = ordered_json::array();
    for (const RunSample& run : runs) times.push_back(run.dispatches[i].gpu_ns);
    samples["dispatch_ns"].push_back(std::move(times));
  }
  for (const RunSample& run : runs) {
    samples["gpu_ns"].push_back(run.gpu_ns);
    samples["host_ns"].push_back(run.host.back().start_ns + run.host.back().ns);
  }
  return samples;
}

// Adds `statistics` to each dispatch: those that the driver reports of its pipeline, which is
// compiled again. They are absent if the device does not support
// VK_KHR_pipeline_executable_properties or the driver fails.
void AddStatistics(const Runtime& runtime, const Model& model, ordered_json& dispatches) {
  const internal::CompiledGraph& compiled = model.context()->compiled();
  const vulkan::Device& used = *runtime.state()->device;
  const DeviceInfo& info = runtime.device();
  const auto device =
      tools::StatisticsDevice::Create(info.pci.empty() ? info.uuid : info.pci, used.capabilities());
  const auto list = graph::BuildDispatches(compiled.plan(), graph::TraitsOf(used));
  if (!device.ok() || !list.ok()) return;
  vulkan::LayoutCache layouts((*device)->device());
  std::map<uint32_t, ordered_json> known;  // by pipeline
  for (size_t i = 0; i < compiled.dispatches.size(); ++i) {
    const uint32_t pipeline = compiled.dispatches[i].pipeline;
    if (pipeline == graph::kBufferCopy) continue;
    const auto [found, is_new] = known.try_emplace(pipeline, ordered_json::object());
    if (is_new) {
      const auto values = tools::StatisticsOf(**device, layouts, list->pipelines[pipeline]);
      if (!values.ok()) continue;
      for (const auto& [name, value] : *values) found->second[name] = value;
    }
    if (!found->second.empty()) dispatches[i]["statistics"] = found->second;
  }
}

// The device's times have another origin than the host's: the queue is assumed to start at the end
// of the submission, or earlier if it would otherwise end after the host has waited for it.
ordered_json TimelineOf(const RunSample& run) {
  ordered_json host = ordered_json::array();
  for (const HostPhase& phase : run.host) {
    host.push_back({{"name", phase.name}, {"start_ns", phase.start_ns}, {"ns", phase.ns}});
  }
  ordered_json queue = ordered_json::array();
  for (size_t i = 0; i < run.dispatches.size(); ++i) {
    const DispatchProfile& dispatch = run.dispatches[i];
    queue.push_back({{"dispatch", i}, {"start_ns", dispatch.start_ns}, {"ns", dispatch.gpu_ns}});
  }
  const HostPhase& wait = run.host.back();
  const uint64_t end = wait.start_ns + wait.ns;
  const uint64_t start = std::min(wait.start_ns, end - std::min(end, run.gpu_ns));
  return {{"host", host}, {"queue_start_ns", start}, {"queue", queue}};
}

// Appends the times of `more` to `times`, and drops the oldest ones. Returns false if `times` is
// not a list of times.
bool Append(ordered_json& times, const ordered_json& more) {
  if (!times.is_array()) return false;
  for (const ordered_json& time : times) {
    if (!time.is_number_unsigned()) return false;
  }
  times.insert(times.end(), more.begin(), more.end());
  if (times.size() > kKeptRuns) times.erase(times.begin(), times.end() - kKeptRuns);
  return true;
}

bool Accumulate(ordered_json& old, const ordered_json& more) {
  if (!old.is_object() || !old.contains("runs") || !old["runs"].is_number_unsigned()) return false;
  const ordered_json& added = more["dispatch_ns"];
  if (!old.contains("dispatch_ns") || !old["dispatch_ns"].is_array() ||
      old["dispatch_ns"].size() != added.size())
    return false;
  for (size_t i = 0; i < added.size(); ++i) {
    if (!Append(old["dispatch_ns"][i], added[i])) return false;
  }
  for (const char* name : {"gpu_ns", "host_ns"}) {
    if (!old.contains(name) || !Append(old[name], more[name])) return false;
  }
  old["runs"] = old["runs"].get<uint64_t>() + more["runs"].get<uint64_t>();
  return true;
}

Status Damaged(const std::string& path) {
  return InvalidFile("{} is not a profile, or is damaged. Delete it, or write to another file.",
                     Quote(path));
}

// Adds the samples of an existing file to `profile`.
Status AddExisting(const std::string& path, ordered_json& profile) {
  SPIRLOOM_TRY_ASSIGN(const MappedFile file, MappedFile::Open(path));
  const char* text = reinterpret_cast<const char*>(file.bytes().data());
  ordered_json old = ordered_json::parse(text, text + file.bytes().size(), nullptr,
                                         /*allow_exceptions=*/false);
  if (!old.is_object() || !old.contains("format") || old["format"] != kFormat) return Damaged(path);
  ordered_json known = old;
  ordered_json now = profile;
  for (const char* key : kChanging) {
    known.erase(key);
    now.erase(key);
  }
  for (const auto& [key, value] : now.items()) {
    if (known.contains(key) && known[key] == value) continue;
    return Error(StatusCode::kInvalidArgument,
                 "{} is the profile of another model, device or plan: its '{}' differs. Delete it, "
                 "or write to another file.",
                 Quote(path), key);
  }
  if (!old.contains("samples") || !Accumulate(old["samples"], profile["samples"]))
    return Damaged(path);
  profile["samples"] = std::move(old["samples"]);
  return Status();
}

}  // namespace

Status AddToProfile(const std::string& path, const Options& options, const Runtime& runtime,
                    const Model& model, std::span<const RunSample> runs) {
  SPIRLOOM_TRY_ASSIGN(const std::vector<graph::CallTrials> trials,
                      TrialsOf(options, runtime, model));
  const DeviceInfo& device = runtime.device();
  ordered_json profile{
      {"format", kFormat},
      {"version", kVersion},
      {"producer", "spirloom-run"},
      {"model", {{"file", PathText(ToPath(options.model).filename())}, {"method", model.method()}}},
      {"device", {{"name", device.name}, {"driver", device.driver}, {"type", device.type}}},
      {"dispatches", tools::DispatchFacts(model, trials, options.kernels)},
      {"tensors", tools::TensorFacts(model)},
      {"memory", MemoryFacts(model.stats())},
      {"samples", SamplesOf(runs, model.stats().dispatches)},
      {"timeline", TimelineOf(runs.back())}};
  AddStatistics(runtime, model, profile["dispatches"]);
  if (const auto peaks = PeaksOf(options, device)) profile["peaks"] = *peaks;
  if (std::filesystem::exists(ToPath(path))) SPIRLOOM_TRY(AddExisting(path, profile));
  return WriteText(path,
                   profile.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace spirloom::run
