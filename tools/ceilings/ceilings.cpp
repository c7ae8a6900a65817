#include "tools/ceilings/ceilings.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <span>
#include <vector>

#include "spirloom/model.h"
#include "tools/ceilings/probe_graph.h"

namespace spirloom::ceilings {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMostTensorBytes = uint64_t{1} << 30;
// A model runs at least so often, and longer than that.
constexpr int kLeastRuns = 3;
constexpr std::chrono::milliseconds kLeastTime{200};
// Invocations that fill any device several times over.
constexpr int64_t kInvocations = int64_t{1} << 20;
constexpr int64_t kVector = 16;  // bytes of a vec4

Result<Model> Load(const Runtime& runtime, std::span<const std::byte> graph, bool profile) {
  ModelOptions options;
  options.profile = profile;
  options.max_dispatches = 1 << 16;
  options.max_device_bytes = 4 * kMostTensorBytes;
  return Model::LoadFromMemory(runtime, graph, options);
}

// Runs the model again and again, calling `after` behind each run.
template <typename After>
Status RunOften(Model& model, After after) {
  const Clock::time_point end = Clock::now() + kLeastTime;
  for (int i = 0; i < kLeastRuns || Clock::now() < end; ++i) {
    const Clock::time_point start = Clock::now();
    SPIRLOOM_TRY(model.Run());
    SPIRLOOM_TRY(after(Clock::now() - start));
  }
  return Status();
}

// The least GPU time of each of the graph's dispatches, in seconds.
Result<std::vector<double>> LeastTimes(const Runtime& runtime, std::span<const std::byte> graph) {
  SPIRLOOM_TRY_ASSIGN(Model model, Load(runtime, graph, /*profile=*/true));
  std::vector<uint64_t> least(model.stats().dispatches, std::numeric_limits<uint64_t>::max());
  SPIRLOOM_TRY(RunOften(model, [&](Clock::duration) -> Status {
    SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> profile, model.Profile());
    for (size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], profile[i].gpu_ns);
    return Status();
  }));
  std::vector<double> seconds;
  for (const uint64_t ns : least)
    seconds.push_back(static_cast<double>(std::max<uint64_t>(ns, 1)) * 1e-9);
  return seconds;
}

// The least time of a run, in nanoseconds of the host's clock.
Result<double> LeastRun(const Runtime& runtime, std::span<const std::byte> graph) {
  SPIRLOOM_TRY_ASSIGN(Model model, Load(runtime, graph, /*profile=*/false));
  Clock::duration least = Clock::duration::max();
  SPIRLOOM_TRY(RunOften(model, [&](Clock::duration time) {
    least = std::min(least, time);
    return Status();
  }));
  return std::chrono::duration<double, std::nano>(least).count();
}

Status MeasureMemory(const Runtime& runtime, Ceilings& found) {
  const uint64_t count = found.tensor_bytes / sizeof(float);
  ProbeGraph graph(1);
  const auto written =
      graph.Add("bench.write", graph.input(), {static_cast<int64_t>(count)}, count);
  const auto copied = graph.Add("bench.stream", written, {}, count);
  const auto sums = graph.Add("bench.read", copied, {}, count / 64);
  SPIRLOOM_TRY_ASSIGN(const std::vector<double> times, LeastTimes(runtime, graph.Finish({sums})));
  const auto bytes = static_cast<double>(found.tensor_bytes);
  found.write = bytes / times[0];
  found.copy = 2 * bytes / times[1];
  found.read = bytes / times[2];
  return Status();
}

Status MeasureLanes(const Runtime& runtime, Ceilings& found) {
  constexpr int64_t kRounds = 256;
  constexpr int64_t kCached = 4096;  // elements
  ProbeGraph graph(1);
  const auto lanes = static_cast<uint64_t>(kInvocations);
  const auto few = graph.Add("bench.write", graph.input(), {kCached}, kCached);
  const auto many = graph.Add("bench.write", graph.input(), {4 * kInvocations}, 4 * lanes);
  const auto one_each = graph.Add("bench.write", graph.input(), {kInvocations}, lanes);
  const std::vector<ProbeGraph::Tensor> outputs = {
      graph.Add("bench.load", few, {kRounds, kInvocations}, lanes),
      graph.Add("bench.shared_load", many, {kRounds}, lanes),
      graph.Add("bench.multiply_add", one_each, {kRounds}, lanes)};
  SPIRLOOM_TRY_ASSIGN(const std::vector<double> times, LeastTimes(runtime, graph.Finish(outputs)));
  const auto rounds = static_cast<double>(kInvocations * kRounds);
  found.cached_read = rounds * kVector / times[3];
  found.shared_read = rounds * kVector / times[4];
  found.multiply_add = rounds * 8 * 2 / times[5];
  return Status();
}

// A chain of dispatches each of which needs the one before.
std::vector<std::byte> Chain(int length) {
  constexpr uint64_t kElements = 1024;
  ProbeGraph graph(kElements);
  ProbeGraph::Tensor last = graph.input();
  for (int i = 0; i < length; ++i) last = graph.Add("bench.stream", last, {}, kElements);
  return graph.Finish({last});
}

Status MeasureDispatches(const Runtime& runtime, Ceilings& found) {
  constexpr int kShort = 64;
  constexpr int kLong = 576;
  SPIRLOOM_TRY_ASSIGN(const double few, LeastRun(runtime, Chain(kShort)));
  SPIRLOOM_TRY_ASSIGN(const double many, LeastRun(runtime, Chain(kLong)));
  found.dispatch_ns = std::max(0.0, many - few) / (kLong - kShort);
  return Status();
}

}  // namespace

uint64_t ProbeTensorBytes(const DeviceInfo& device) {
  return std::bit_floor(std::min({kMostTensorBytes, device.max_storage_buffer_range,
                                  std::max<uint64_t>(device.device_memory / 4, 4096)}));
}

Result<Ceilings> MeasureCeilings(const Runtime& runtime, uint64_t tensor_bytes) {
  Ceilings found;
  found.tensor_bytes = tensor_bytes;
  SPIRLOOM_TRY(MeasureMemory(runtime, found));
  SPIRLOOM_TRY(MeasureLanes(runtime, found));
  SPIRLOOM_TRY(MeasureDispatches(runtime, found));
  return found;
}

}  // namespace spirloom::ceilings
