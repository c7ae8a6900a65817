#include "runtime/graph/record/dispatch_cost.h"

#include <algorithm>

namespace spirloom::graph {
namespace {

// Assumed peaks, per nanosecond.
struct Peaks {
  double bytes;
  double iterations_per_core;  // an iteration is a few loads and multiply-adds of one invocation
};

Peaks PeaksOf(const ops::DeviceProperties& device) {
  if (device.is_cpu) return {.bytes = 4, .iterations_per_core = 0.2};
  return {.bytes = device.integrated ? 10.0 : 100.0, .iterations_per_core = 2};
}

// Maximum number of bytes that an iteration of an invocation accesses.
constexpr double kBytesPerIteration = 64;
constexpr double kLaunchNs = 1000;

}  // namespace

uint64_t EstimateNanoseconds(const Plan& plan, const Dispatch& dispatch,
                             const DeviceTraits& device) {
  uint64_t bytes = 0;
  for (uint32_t tensor : dispatch.tensors) {
    if (tensor != kNoTensor) bytes += plan.tensors[tensor].size;
  }
  return EstimateNanoseconds(bytes, plan.nodes[dispatch.node].loop_iterations, dispatch, device);
}

uint64_t EstimateNanoseconds(uint64_t bound_bytes, int64_t loop_iterations,
                             const Dispatch& dispatch, const DeviceTraits& device) {
  const Peaks peaks = PeaksOf(device.properties);
  double bytes = static_cast<double>(bound_bytes);
  if (dispatch.pipeline == kBufferCopy) {
    return static_cast<uint64_t>(kLaunchNs + bytes / peaks.bytes);
  }
  // Outside of its loops, an invocation is assumed to take the time of four iterations.
  double iterations = static_cast<double>(loop_iterations) + 4;
  for (const uint32_t invocations : dispatch.invocations) iterations *= invocations;
  bytes = std::min(bytes, iterations * kBytesPerIteration);
  const double cores = static_cast<double>(std::max<int64_t>(device.properties.cores, 1));
  const double ns =
      kLaunchNs + bytes / peaks.bytes + iterations / (peaks.iterations_per_core * cores);
  constexpr double kMaxNs = 1e15;  // sums over all dispatches do not overflow
  return static_cast<uint64_t>(std::min(ns, kMaxNs));
}

}  // namespace spirloom::graph
