// Times the calls of a case pack on the GPU with Google Benchmark, one benchmark per case:
//   spirloom-kernels CALLS.slcases [--benchmark_… flags]
// The time of a benchmark is the GPU time from the start of the first dispatch to the end of the
// last one. The counters min_gpu and min_cpu are minima over all runs, in seconds. The exit code is
// 1 if a case cannot run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "benchmarks/kernels/timed_call.h"
#include "benchmarks/kernels/warm_up.h"
#include "runtime/base/guarded.h"
#include "tests/ops/case_file.h"
#include "tools/peaks/peaks.h"

namespace spirloom {

const ShaderLibrary& TestKernels();

namespace bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The most recently timed call. Google Benchmark enters each benchmark several times, and the model
// is to be loaded only once.
struct Current {
  const schema::Case* test = nullptr;
  std::optional<TimedCall> call;
};

Status Time(const Runtime& runtime, const schema::Case& test, WarmUp& warm_up, Current& current,
            benchmark::State& state) {
  if (current.test != &test) {
    current = Current{&test, std::nullopt};
    SPIRLOOM_TRY_ASSIGN(current.call, TimedCall::Create(runtime, test));
    SPIRLOOM_TRY(warm_up.Run());
  }
  Cost min{kInfinity, kInfinity};
  for (auto _ : state) {
    SPIRLOOM_TRY_ASSIGN(const Cost cost, current.call->Run());
    state.SetIterationTime(cost.gpu);
    min = {std::min(min.gpu, cost.gpu), std::min(min.cpu, cost.cpu)};
  }
  state.SetLabel(current.call->kernels());
  state.counters["min_gpu"] = min.gpu;
  state.counters["min_cpu"] = min.cpu;
  return Status();
}

Status RunAll(const std::string& path) {
  SPIRLOOM_TRY_ASSIGN(const testing::CaseFile file, testing::CaseFile::Open(path));
  RuntimeOptions options;
  options.libraries = {&AllShaders(), &TestKernels(), &PeakProbes()};
  SPIRLOOM_TRY_ASSIGN(const Runtime runtime, Runtime::Create(options));
  benchmark::AddCustomContext("device", runtime.device().name);
  benchmark::AddCustomContext("driver", runtime.device().driver);
  SPIRLOOM_TRY_ASSIGN(WarmUp warm_up, WarmUp::Create(runtime));
  Current current;
  Status first_error;
  for (const schema::Case* test : file.cases()) {
    const auto time = [&, test](benchmark::State& state) {
      const Status status = Time(runtime, *test, warm_up, current, state);
      if (status.ok()) return;
      if (first_error.ok()) first_error = Status(status).While("timing " + test->id()->str());
      state.SkipWithError(status.message().c_str());
    };
    benchmark::RegisterBenchmark(test->id()->c_str(), time)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return first_error;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: spirloom-kernels CALLS.slcases [--benchmark_… flags]\n");
    return 2;
  }
  const Status status = RunAll(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "spirloom-kernels: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace bench
}  // namespace spirloom

int main(int argc, char** argv) {
  try {
    return spirloom::bench::Main(argc, argv);
  } catch (...) {
    std::fprintf(stderr, "spirloom-kernels: %s\n", spirloom::StatusOfException().message().c_str());
    return 1;
  }
}
