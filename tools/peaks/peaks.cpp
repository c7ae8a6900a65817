#include "tools/peaks/peaks.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <span>
#include <vector>

#include "spirloom/model.h"
#include "tools/peaks/probe_graph.h"

namespace spirloom::peaks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 30;
// A model runs at least kMinRuns times and for at least kMinTime.
constexpr int kMinRuns = 3;
constexpr std::chrono::milliseconds kMinTime{200};
// Enough invocations for full occupancy on any device, several times over.
constexpr int64_t kInvocations = int64_t{1} << 20;
constexpr int64_t kVector = 16;  // bytes of a vec4

Result<Model> Load(const Runtime& runtime, std::span<const std::byte> graph, bool profile) {
  ModelOptions options;
  options.profile = profile;
  options.max_dispatches = 1 << 16;
  options.max_device_bytes = 4 * kMaxTensorBytes;
  return Model::LoadFromMemory(runtime, graph, options);
}

// Runs the model repeatedly and calls `after` with the host time of each run.
template <typename After>
Status RunRepeatedly(Model& model, After after) {
  const Clock::time_point end = Clock::now() + kMinTime;
  for (int i = 0; i < kMinRuns || Clock::now() < end; ++i) {
    const Clock::time_point start = Clock::now();
    SPIRLOOM_TRY(model.Run());
    SPIRLOOM_TRY(after(Clock::now() - start));
  }
  return Status();
}

// The minimum GPU time of each dispatch of the graph, in seconds.
Result<std::vector<double>> MinDispatchTimes(const Runtime& runtime,
                                             std::span<const std::byte> graph) {
  SPIRLOOM_TRY_ASSIGN(Model model, Load(runtime, graph, /*profile=*/true));
  std::vector<uint64_t> min_ns(model.stats().dispatches, std::numeric_limits<uint64_t>::max());
  SPIRLOOM_TRY(RunRepeatedly(model, [&](Clock::duration) -> Status {
    SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> profile, model.Profile());
    for (size_t i = 0; i < min_ns.size(); ++i) min_ns[i] = std::min(min_ns[i], profile[i].gpu_ns);
    return Status();
  }));
  std::vector<double> seconds;
  for (const uint64_t ns : min_ns)
    seconds.push_back(static_cast<double>(std::max<uint64_t>(ns, 1)) * 1e-9);
  return seconds;
}

// The minimum host time of a run, in nanoseconds.
Result<double> MinRunTime(const Runtime& runtime, std::span<const std::byte> graph) {
  SPIRLOOM_TRY_ASSIGN(Model model, Load(runtime, graph, /*profile=*/false));
  Clock::duration min_time = Clock::duration::max();
  SPIRLOOM_TRY(RunRepeatedly(model, [&](Clock::duration time) {
    min_time = std::min(min_time, time);
    return Status();
  }));
  return std::chrono::duration<double, std::nano>(min_time).count();
}

Status MeasureMemory(const Runtime& runtime, DevicePeaks& found) {
  const uint64_t count = found.tensor_bytes / sizeof(float);
  ProbeGraph graph(1);
  const auto written =
      graph.Add("bench.write", graph.input(), {static_cast<int64_t>(count)}, count);
  const auto copied = graph.Add("bench.stream", written, {}, count);
  const auto sums = graph.Add("bench.read", copied, {}, count / 64);
  SPIRLOOM_TRY_ASSIGN(const std::vector<double> times,
                      MinDispatchTimes(runtime, graph.Finish({sums})));
  const auto bytes = static_cast<double>(found.tensor_bytes);
  found.write = bytes / times[0];
  found.copy = 2 * bytes / times[1];
  found.read = bytes / times[2];
  return Status();
}

Status MeasureLanes(const Runtime& runtime, DevicePeaks& found) {
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
  SPIRLOOM_TRY_ASSIGN(const std::vector<double> times,
                      MinDispatchTimes(runtime, graph.Finish(outputs)));
  const auto rounds = static_cast<double>(kInvocations * kRounds);
  found.cached_read = rounds * kVector / times[3];
  found.shared_read = rounds * kVector / times[4];
  found.multiply_add = rounds * 8 * 2 / times[5];
  return Status();
}

// A graph of `length` dispatches, each of which reads the result of the previous one.
std::vector<std::byte> Chain(int length) {
  constexpr uint64_t kElements = 1024;
  ProbeGraph graph(kElements);
  ProbeGraph::Tensor last = graph.input();
  for (int i = 0; i < length; ++i) last = graph.Add("bench.stream", last, {}, kElements);
  return graph.Finish({last});
}

Status MeasureDispatches(const Runtime& runtime, DevicePeaks& found) {
  constexpr int kShort = 64;
  constexpr int kLong = 576;
  SPIRLOOM_TRY_ASSIGN(const double few, MinRunTime(runtime, Chain(kShort)));
  SPIRLOOM_TRY_ASSIGN(const double many, MinRunTime(runtime, Chain(kLong)));
  found.dispatch_ns = std::max(0.0, many - few) / (kLong - kShort);
  return Status();
}

}  // namespace

uint64_t ProbeTensorBytes(const DeviceInfo& device) {
  return std::bit_floor(std::min({kMaxTensorBytes, device.max_storage_buffer_range,
                                  std::max<uint64_t>(device.device_memory / 4, 4096)}));
}

Result<DevicePeaks> MeasurePeaks(const Runtime& runtime, uint64_t tensor_bytes) {
  DevicePeaks found;
  found.tensor_bytes = tensor_bytes;
  SPIRLOOM_TRY(MeasureMemory(runtime, found));
  SPIRLOOM_TRY(MeasureLanes(runtime, found));
  SPIRLOOM_TRY(MeasureDispatches(runtime, found));
  return found;
}

}  // namespace spirloom::peaks
