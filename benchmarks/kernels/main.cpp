// Times the calls of a case pack on the GPU with Google Benchmark, one benchmark per case:
//   spirloom-kernels CALLS.slcases [--benchmark_… flags]
// A benchmark's time is that between the first dispatch's start and the last one's end; its
// counters are the least of all runs, in seconds. Exit code 1 if a case cannot run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "benchmarks/kernels/timed_call.h"
#include "tests/ops/case_file.h"
#include "tools/ceilings/ceilings.h"

namespace spirloom {

const ShaderLibrary& TestKernels();

namespace bench {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

// The call that was timed last: Google Benchmark enters a benchmark several times.
struct Current {
  const schema::Case* test = nullptr;
  std::optional<TimedCall> call;
};

Status Time(const Runtime& runtime, const schema::Case& test, Current& current,
            benchmark::State& state) {
  if (current.test != &test) {
    current = Current{&test, std::nullopt};
    SPIRLOOM_TRY_ASSIGN(current.call, TimedCall::Create(runtime, test));
  }
  Cost least{kForever, kForever};
  for (auto _ : state) {
    SPIRLOOM_TRY_ASSIGN(const Cost cost, current.call->Run());
    state.SetIterationTime(cost.gpu);
    least = {std::min(least.gpu, cost.gpu), std::min(least.cpu, cost.cpu)};
  }
  state.SetLabel(current.call->kernels());
  state.counters["least_gpu"] = least.gpu;
  state.counters["least_cpu"] = least.cpu;
  return Status();
}

Status RunAll(const std::string& path) {
  SPIRLOOM_TRY_ASSIGN(const testing::CaseFile file, testing::CaseFile::Open(path));
  RuntimeOptions options;
  options.libraries = {&AllShaders(), &TestKernels(), &CeilingProbes()};
  SPIRLOOM_TRY_ASSIGN(const Runtime runtime, Runtime::Create(options));
  benchmark::AddCustomContext("device", runtime.device().name);
  benchmark::AddCustomContext("driver", runtime.device().driver);
  Current current;
  Status first_error;
  for (const schema::Case* test : file.cases()) {
    const auto time = [&, test](benchmark::State& state) {
      const Status status = Time(runtime, *test, current, state);
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

}  // namespace
}  // namespace bench
}  // namespace spirloom

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: spirloom-kernels CALLS.slcases [--benchmark_… flags]\n");
    return 2;
  }
  const spirloom::Status status = spirloom::bench::RunAll(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "spirloom-kernels: %s\n", status.message().c_str());
  return 1;
}
