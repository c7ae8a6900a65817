#include "benchmarks/kernels/warm_up.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/peaks/probe_graph.h"

namespace spirloom::bench {
namespace {

using Clock = std::chrono::steady_clock;

// About 100 µs of a large GPU, so that the gaps between submissions are short in comparison.
constexpr uint64_t kInvocations = uint64_t{1} << 20;
constexpr int64_t kRounds = 256;
// The first warm-up, which finds the minimum, and the limit of later ones.
constexpr std::chrono::milliseconds kFirst{1000};
constexpr std::chrono::milliseconds kMax{500};
// Consecutive runs near the minimum after which the clock rate is taken to be full.
constexpr int kRuns = 20;

bool IsNear(uint64_t ns, uint64_t min_ns) { return ns <= min_ns + min_ns / 20; }

}  // namespace

Result<WarmUp> WarmUp::Create(const Runtime& runtime) {
  if (runtime.device().type == "cpu") return WarmUp(std::nullopt);
  peaks::ProbeGraph graph(1);
  const auto values =
      graph.Add("bench.write", graph.input(), {static_cast<int64_t>(kInvocations)}, kInvocations);
  const auto result = graph.Add("bench.multiply_add", values, {kRounds}, kInvocations);
  const std::vector<std::byte> file = graph.Finish({result});
  ModelOptions options;
  options.profile = true;
  SPIRLOOM_TRY_ASSIGN(Model model, Model::LoadFromMemory(runtime, file, options));
  WarmUp made(std::move(model));
  for (const Clock::time_point end = Clock::now() + kFirst; Clock::now() < end;) {
    SPIRLOOM_TRY(made.RunOnce().status());
  }
  return made;
}

Status WarmUp::Run() {
  if (!model_) return Status();
  const Clock::time_point end = Clock::now() + kMax;
  for (int near = 0; near < kRuns && Clock::now() < end;) {
    SPIRLOOM_TRY_ASSIGN(const uint64_t ns, RunOnce());
    near = IsNear(ns, min_ns_) ? near + 1 : 0;
  }
  return Status();
}

Result<uint64_t> WarmUp::RunOnce() {
  SPIRLOOM_TRY(model_->Run());
  SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> dispatches, model_->Profile());
  const uint64_t ns = dispatches.back().gpu_ns;
  min_ns_ = std::min(min_ns_, ns);
  return ns;
}

}  // namespace spirloom::bench
