#include "tools/spirloom-run/session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "tools/common/process.h"
#include "tools/spirloom-run/amber.h"
#include "tools/spirloom-run/cases.h"
#include "tools/spirloom-run/inputs.h"
#include "tools/spirloom-run/libraries.h"
#include "tools/spirloom-run/outputs.h"
#include "tools/spirloom-run/peaks.h"
#include "tools/spirloom-run/plan_passes.h"
#include "tools/spirloom-run/profile_file.h"
#include "tools/spirloom-run/profile_report.h"
#include "tools/spirloom-run/races.h"
#include "tools/spirloom-run/renderdoc.h"
#include "tools/spirloom-run/sizes.h"
#include "tools/spirloom-run/stats_report.h"
#include "tools/spirloom-run/text_output.h"
#include "tools/spirloom-run/tune_report.h"

namespace spirloom::run {
namespace {

// Captures one of the runs.
class RunCapture {
 public:
  // `number`: of the captured run, from 1.
  RunCapture(RenderDoc renderdoc, int number) : renderdoc_(renderdoc), number_(number) {}

  void BeforeRun() {
    if (++runs_ == number_) renderdoc_.Start();
  }
  Status AfterRun() const {
    if (runs_ != number_) return Status();
    SPIRLOOM_TRY_ASSIGN(const std::string path, renderdoc_.End());
    Print("RenderDoc capture: " + path + "\n");
    return Status();
  }
  // Fails with kInvalidArgument if there were fewer runs.
  Status Finish() const {
    if (runs_ >= number_) return Status();
    return Status(StatusCode::kInvalidArgument, "--renderdoc " + std::to_string(number_) +
                                                    " requires as many runs; there were " +
                                                    std::to_string(runs_) + ". Use --repeat.");
  }

 private:
  const RenderDoc renderdoc_;
  const int number_;
  int runs_ = 0;
};

// Host memory of the inputs and outputs of a model.
class Bindings {
 public:
  Bindings(std::vector<Array> inputs, std::span<const TensorInfo> outputs)
      : inputs_(std::move(inputs)) {
    for (const Array& input : inputs_) input_spans_.emplace_back(input.bytes);
    for (const TensorInfo& output : outputs) output_bytes_.emplace_back(output.size);
    for (std::vector<std::byte>& output : output_bytes_) output_spans_.emplace_back(output);
  }
  Bindings(const Bindings&) = delete;
  Bindings& operator=(const Bindings&) = delete;

  // Resets the states and runs once. Returns the time in milliseconds.
  Result<double> Run(Model& model) {
    SPIRLOOM_TRY(model.ResetStates());
    const auto start = std::chrono::steady_clock::now();
    SPIRLOOM_TRY(model.Run(input_spans_, output_spans_));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    return time.count();
  }

  // Like Run(), with the times of the run's phases. Requires a model with `profile`.
  Result<RunSample> Sample(Model& model) {
    const auto start = std::chrono::steady_clock::now();
    RunSample sample;
    const auto end_phase = [&](const char* name) {
      const uint64_t end = static_cast<uint64_t>(
          std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
      const uint64_t begin =
          sample.host.empty() ? 0 : sample.host.back().start_ns + sample.host.back().ns;
      sample.host.push_back({name, begin, end - begin});
    };
    SPIRLOOM_TRY(model.ResetStates());
    end_phase("reset states");
    SPIRLOOM_TRY_ASSIGN(PendingRun run, model.Submit(input_spans_));
    end_phase("copy inputs and submit");
    SPIRLOOM_TRY(run.Wait(output_spans_));
    end_phase("wait and copy outputs");
    SPIRLOOM_TRY_ASSIGN(sample.dispatches, model.Profile());
    SPIRLOOM_TRY_ASSIGN(sample.gpu_ns, model.GpuTime());
    return sample;
  }

  std::span<const std::span<const std::byte>> inputs() const { return input_spans_; }
  std::span<const std::vector<std::byte>> outputs() const { return output_bytes_; }

 private:
  std::vector<Array> inputs_;
  std::vector<std::span<const std::byte>> input_spans_;
  std::vector<std::vector<std::byte>> output_bytes_;
  std::vector<std::span<std::byte>> output_spans_;
};

double CpuMilliseconds(std::clock_t time) {
  return static_cast<double>(time) * 1e3 / static_cast<double>(CLOCKS_PER_SEC);
}

// The shapes of Arrays or TensorInfos.
template <typename Tensors>
std::vector<Shape> ShapesOf(const Tensors& tensors) {
  std::vector<Shape> shapes;
  for (const auto& tensor : tensors) shapes.push_back(tensor.shape);
  return shapes;
}

// Returns the values of all integer inputs.
Result<std::vector<int64_t>> IntsOf(const Options& options, const Model& model) {
  std::vector<int64_t> values = model.IntValues();
  for (const NamedInt& given : options.ints) {
    const auto infos = model.int_inputs();
    const auto found = std::ranges::find(infos, given.name, &IntInputInfo::name);
    if (found == infos.end()) {
      return Status(StatusCode::kInvalidArgument,
                    "The model has no integer input '" + given.name + "'.");
    }
    values[static_cast<size_t>(found - infos.begin())] = given.value;
  }
  return values;
}

// Reads the inputs, and resizes a model with dynamic shapes to them.
Result<std::vector<Array>> PrepareInputs(const Options& options, Model& model) {
  const bool dynamic_shapes = !model.symbols().empty();
  std::vector<Shape> shapes;
  if (!options.sizes.empty()) {
    SPIRLOOM_TRY_ASSIGN(shapes, ShapesOfSizes(options, model));
    SPIRLOOM_TRY(model.Resize(shapes));
  }
  SPIRLOOM_TRY_ASSIGN(std::vector<Array> inputs,
                      ReadInputs(model.inputs(), options.inputs, dynamic_shapes, options.random));
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (inputs[i].shape == shapes[i]) continue;
    return Error(StatusCode::kInvalidArgument, "Input {} has shape {}; expected {} for --size.",
                 Quoted{model.inputs()[i].name}, ToString(inputs[i].shape), ToString(shapes[i]));
  }
  SPIRLOOM_TRY_ASSIGN(const std::vector<int64_t> ints, IntsOf(options, model));
  if (dynamic_shapes) SPIRLOOM_TRY(model.Resize(ShapesOf(inputs), ints));
  return inputs;
}

Result<Timings> RunAll(const Options& options, Model& model, Bindings& bindings,
                       std::optional<RunCapture>& capture) {
  Timings timings;
  const auto run = [&]() -> Result<double> {
    if (capture) capture->BeforeRun();
    SPIRLOOM_TRY_ASSIGN(const double time, bindings.Run(model));
    if (capture) SPIRLOOM_TRY(capture->AfterRun());
    return time;
  };
  SPIRLOOM_TRY_ASSIGN(timings.first_run_ms, run());
  const auto warm_up_end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options.warmup_ms);
  for (int i = 0; i < options.warmup || std::chrono::steady_clock::now() < warm_up_end; ++i) {
    SPIRLOOM_TRY(run().status());
  }
  for (int i = 0; i < options.repeat; ++i) {
    const std::clock_t start = std::clock();
    SPIRLOOM_TRY_ASSIGN(const double time, run());
    const double cpu_ms = CpuMilliseconds(std::clock() - start);
    timings.cpu_ms = i == 0 ? cpu_ms : std::min(timings.cpu_ms, cpu_ms);
    timings.steady_ms.push_back(time);
    if (!options.profile && !options.time_runs) continue;
    SPIRLOOM_TRY_ASSIGN(const uint64_t gpu_ns, model.GpuTime());
    timings.gpu_ms.push_back(static_cast<double>(gpu_ns) * 1e-6);
  }
  return timings;
}

// The cases in the file. Fails with kInvalidArgument if there are none.
Result<std::vector<BundledCase>> ReadCases(const Options& options, const Model& model) {
  SPIRLOOM_TRY_ASSIGN(
      std::vector<BundledCase> cases,
      CasesOf(model.attachments(), model.inputs(), model.outputs(), !model.symbols().empty()));
  if (!cases.empty()) return cases;
  return Status(StatusCode::kInvalidArgument,
                "File '" + options.model + "' has no test cases, which --check requires.");
}

// Runs all cases in the file and prints a line per output. Fails with kInternal if one differs.
Status CheckCases(const Options& options, Model& model) {
  const bool dynamic_shapes = !model.symbols().empty();
  SPIRLOOM_TRY_ASSIGN(std::vector<BundledCase> cases, ReadCases(options, model));
  size_t checked = 0;
  size_t failed = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (dynamic_shapes) SPIRLOOM_TRY(model.Resize(ShapesOf(cases[i].inputs)));
    Bindings bindings(std::move(cases[i].inputs), model.outputs());
    SPIRLOOM_TRY(bindings.Run(model).status());
    for (const auto& [output, expected] : cases[i].expected) {
      const TensorInfo& info = model.outputs()[output];
      if (info.shape != expected.shape) {
        return Status(StatusCode::kInvalidFile,
                      "Case " + std::to_string(i) + " expects the shape " +
                          ToString(expected.shape) + " of output '" + info.name + "'; it is " +
                          ToString(info.shape) + ".");
      }
      const OutputCheck found =
          CheckOutput(expected, bindings.outputs()[output], {options.rtol, options.atol});
      Print(Describe(i, info.name, found, expected.bytes.size() / ElementSize(expected.dtype)));
      ++checked;
      if (!found.passed) ++failed;
    }
  }
  if (failed == 0) return Status();
  return Status(StatusCode::kInternal,
                std::to_string(failed) + " of " + std::to_string(checked) + " outputs failed.");
}

// Writes the Amber script of the first case (--check), or of a run with the given inputs.
Status SaveAmberScript(const Options& options, const Runtime& runtime, Model& model,
                       const ModelOptions& model_options) {
  ExpectedOutputs expected(model.outputs().size());
  std::vector<Array> inputs;
  if (options.check) {
    SPIRLOOM_TRY_ASSIGN(std::vector<BundledCase> cases, ReadCases(options, model));
    inputs = std::move(cases[0].inputs);
    for (auto& [output, array] : cases[0].expected) expected[output] = std::move(array.bytes);
    if (!model.symbols().empty()) SPIRLOOM_TRY(model.Resize(ShapesOf(inputs)));
  } else {
    SPIRLOOM_TRY_ASSIGN(inputs, PrepareInputs(options, model));
  }
  Bindings bindings(std::move(inputs), model.outputs());
  if (!options.check) {
    SPIRLOOM_TRY(bindings.Run(model).status());
    expected.assign(bindings.outputs().begin(), bindings.outputs().end());
  }
  return WriteAmberScript(options, runtime, model, model_options, bindings.inputs(), expected);
}

// Runs with the times of each dispatch, as often as timed runs, and adds them to a profile file.
Status WriteProfile(const Options& options, const Runtime& runtime, Model& model,
                    Bindings& bindings) {
  std::vector<RunSample> runs;
  for (int i = 0; i < std::max(options.repeat, 1); ++i) {
    SPIRLOOM_TRY_ASSIGN(RunSample run, bindings.Sample(model));
    runs.push_back(std::move(run));
  }
  return AddToProfile(options.profile_out, options, runtime, model, runs);
}

// Whether the run is for its results, which go to no file: no other report is requested.
bool PrintsOutputs(const Options& options) {
  return options.output_dir.empty() && options.repeat == 0 && !options.profile && !options.tune &&
         !options.plan && options.plan_pass.empty() && options.trace.empty() &&
         options.json.empty() && options.profile_out.empty() && options.renderdoc == 0;
}

Status Report(const Options& options, const Runtime& runtime, const Model& model,
              const Timings& timings) {
  SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> profile, model.Profile());
  if (options.profile) Print(ProfileReport(profile, model.stats()));
  if (!options.trace.empty()) {
    SPIRLOOM_TRY(WriteText(options.trace, TraceJson(profile, runtime.device().name)));
  }
  if (!options.json.empty()) {
    SPIRLOOM_TRY(
        WriteText(options.json,
                  StatsJson(options.model, runtime.device(), Name(options.storage), model.stats(),
                            CountVariants(profile), timings, runtime.validation_message_count())));
  }
  if (options.repeat > 0 || PrintsOutputs(options)) {
    Print(Summary(runtime.device(), model.stats(), timings));
  }
  return Status();
}

// `tuned` receives the results of tuning. On a terminal, tuning also reports its progress.
ModelOptions ModelOptionsOf(const Options& options, std::vector<TunedCall>& tuned) {
  ModelOptions model;
  model.method = options.method;
  model.storage = options.storage;
  model.kernels = options.kernels;
  model.profile = options.profile || !options.trace.empty() || !options.profile_out.empty();
  model.time_runs = options.time_runs;
  model.max_dispatches = options.max_dispatches;
  model.max_device_bytes = options.max_device_bytes;
  model.tune = options.tune ? KernelAutotuner() : nullptr;
  model.retune = options.remeasure;
  model.on_tuned = [&tuned, terminal = tools::StderrIsTerminal()](const TunedCall& call,
                                                                  size_t done, size_t total) {
    tuned.push_back(call);
    if (terminal) std::fputs(TuneProgress(call, done, total).c_str(), stderr);
  };
  return model;
}

// Prints warnings, errors, and the output of debugPrintfEXT() as it is.
void Log(LogLevel level, std::string_view message) {
  const bool info = level == LogLevel::kInfo;
  if (info && !message.starts_with("debug printf: ")) return;
  std::fprintf(stderr, "%s%.*s\n",
               info ? "" : "spirloom-run: warning: ", static_cast<int>(message.size()),
               message.data());
}

Status PrintDevices() {
  SPIRLOOM_TRY_ASSIGN(const std::vector<DeviceInfo> devices, ListDevices());
  Print(DeviceTable(devices));
  return Status();
}

Status RunSession(const Options& options) {
  if (!options.output_dir.empty()) SPIRLOOM_TRY(CreateDirectory(options.output_dir));
  std::optional<RunCapture> capture;
  if (options.renderdoc > 0) {
    const std::string name = std::filesystem::path(options.model).stem().string();
    SPIRLOOM_TRY_ASSIGN(const RenderDoc renderdoc, RenderDoc::Load(name));
    capture.emplace(renderdoc, options.renderdoc);
  }
  SPIRLOOM_TRY_ASSIGN(const std::vector<ShaderLibrary> libraries, OpenLibraries(options));
  RuntimeOptions runtime_options;
  for (const ShaderLibrary& library : libraries) runtime_options.libraries.push_back(&library);
  runtime_options.device = options.device;
  runtime_options.cache_dir = options.cache_dir;
  runtime_options.verdicts = options.verdicts;
  runtime_options.log = Log;
  runtime_options.validation = options.validation;
  runtime_options.memory_limit = options.memory_limit;
  runtime_options.priority = options.priority;
  runtime_options.max_submission_ns = static_cast<uint64_t>(options.max_submission_ms * 1e6);
  SPIRLOOM_TRY_ASSIGN(const Runtime runtime, Runtime::Create(runtime_options));

  std::vector<TunedCall> tuned;
  const ModelOptions model_options = ModelOptionsOf(options, tuned);
  SPIRLOOM_TRY_ASSIGN(Model model, Model::Load(runtime, options.model, model_options));
  if (!options.amber.empty()) return SaveAmberScript(options, runtime, model, model_options);
  if (options.check) return CheckCases(options, model);
  Result<std::vector<Array>> inputs = PrepareInputs(options, model);
  // Tuning and planning do not require inputs.
  if (options.tune) Print(TuneReport(tuned));
  if (options.plan) {
    SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> dispatches, model.Profile());
    Print(PlanReport(dispatches, model.stats()));
  }
  if (!options.plan_pass.empty()) {
    SPIRLOOM_TRY_ASSIGN(
        const std::string plan,
        PlanAfterPass(runtime, options, ShapesOf(model.inputs()), model.IntValues()));
    Print(plan);
  }
  if (!inputs.ok()) return std::move(inputs).status();
  Bindings bindings(std::move(inputs).value(), model.outputs());
  if (options.race_orders > 0) {
    return PrintRaces(options, runtime, model, model_options, bindings.inputs());
  }
  SPIRLOOM_TRY_ASSIGN(const Timings timings, RunAll(options, model, bindings, capture));
  if (capture) SPIRLOOM_TRY(capture->Finish());
  if (!options.output_dir.empty()) {
    SPIRLOOM_TRY(WriteOutputs(options.output_dir, model.outputs(), bindings.outputs()));
  }
  if (PrintsOutputs(options)) Print(OutputText(model.outputs(), bindings.outputs()));
  if (!options.profile_out.empty()) SPIRLOOM_TRY(WriteProfile(options, runtime, model, bindings));
  SPIRLOOM_TRY(Report(options, runtime, model, timings));
  if (const uint64_t messages = runtime.validation_message_count(); messages > 0) {
    return Status(StatusCode::kInternal,
                  "The validation layers reported " + std::to_string(messages) + " messages.");
  }
  return Status();
}

}  // namespace

Status Execute(const Options& options) {
  if (options.list_devices) return PrintDevices();
  return options.peaks ? PrintPeaks(options) : RunSession(options);
}

}  // namespace spirloom::run
