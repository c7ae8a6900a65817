#include "tools/spirloom-run/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>
#include <memory>
#include <string_view>

#include "tools/common/help_formatter.h"
#include "tools/spirloom-run/plan_passes.h"

namespace spirloom::run {
namespace {

constexpr const char* kFooter = R"(
Examples:
  spirloom-run digits.slg --input image=images.npy --output-dir out
  spirloom-run --random net.slg --size batch=3
  spirloom-run net.slg --random --warmup 3 --repeat 20
  spirloom-run net.slg --input x=x.npy --warmup 3 --repeat 20 --json stats.json
  spirloom-run reproducer.slg --check
  spirloom-run chat.slg --method decode --random --warmup 3 --repeat 20 --profile
  spirloom-run net.slg --random --warmup 3 --repeat 20 --profile-out net.slprof
  spirloom-run --peaks --json peaks.json
  spirloom-run net.slg --input x=x.npy --profile --trace trace.json --device llvmpipe

Exit codes: 0 success, 1 failed run, 2 invalid argument or input file.)";

// Whether a text is a decimal number of this type, also in its range: CLI11 returns the maximum of
// the type for greater numbers.
template <typename Integer>
bool IsInteger(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string RejectInvalidSeed(const std::string& text) {
  return IsInteger<uint64_t>(text) ? "" : "'" + text + "' is not an integer from 0 to 2^64 - 1";
}

// Splits NAME=FILE; the name is up to the first '='.
NamedFile SplitInput(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw CLI::ValidationError("--input", "'" + text + "' is not NAME=FILE.npy");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// Splits NAME=N of an option; the name is up to the last '='.
NamedInt SplitInt(const std::string& option, const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 ||
      !IsInteger<int64_t>(std::string_view(text).substr(equals + 1))) {
    throw CLI::ValidationError(option, "'" + text + "' is not NAME=INTEGER");
  }
  return {text.substr(0, equals), std::stoll(text.substr(equals + 1))};
}

// The number of orders of --check-races=N. Not a validator of the flag: CLI11 2.4 applies those
// also to the value of an absent flag.
int RaceOrders(int64_t orders) {
  constexpr int kMax = 1000;
  if (orders < 1 || orders > kMax) {
    throw CLI::ValidationError(
        "--check-races",
        "Value " + std::to_string(orders) + " not in range [1 - " + std::to_string(kMax) + "]");
  }
  return static_cast<int>(orders);
}

void AddLibraryOptions(CLI::App& app, Options& options) {
  app.add_option("--library", options.libraries,
                 "Additional shader library (.slpack); repeat for more")
      ->type_name("FILE");
  app.add_option("--override", options.overrides,
                 "Shader library whose operators replace those of the same name; repeat for more")
      ->type_name("FILE");
  app.add_option("--dev-templates", options.dev_templates,
                 "Compile the model's operators at run time; templates in DIR replace those of the "
                 "build")
      ->type_name("DIR");
  app.add_flag("!--no-builtin", options.builtin,
               "Use only the libraries of --library and --override");
}

// CLI11 parses -1 as the maximum unsigned value.
std::string RejectNegative(const std::string& text) {
  return text.starts_with('-') ? "'" + text + "' is negative; expected 0 or more" : "";
}

void AddLimitOptions(CLI::App& app, Options& options) {
  const CLI::AsSizeValue bytes(/*kb_is_1000=*/false);
  app.add_option("--max-dispatches", options.max_dispatches,
                 "Maximum number of dispatches of the graph (default: depends on the file size)")
      ->option_text("N")
      ->check(CLI::Validator(RejectNegative, ""));
  app.add_option(
         "--max-device-bytes", options.max_device_bytes,
         "Maximum device memory of the graph, e.g. 512M or 2G (default: depends on the file "
         "size)")
      ->option_text("SIZE")
      ->transform(bytes)
      ->check(CLI::Validator(RejectNegative, ""));
  app.add_option("--memory-limit", options.memory_limit,
                 "Maximum total device memory (default: all memory of the device)")
      ->option_text("SIZE")
      ->transform(bytes)
      ->check(CLI::Validator(RejectNegative, ""));
  app.add_option("--max-submission-ms", options.max_submission_ms,
                 "Maximum expected GPU time of a submission: longer runs are divided into several "
                 "submissions (default 100; 0: a run is one submission)")
      ->option_text("MS")
      ->check(CLI::Range(0.0, 1e9));
}

}  // namespace

ParseResult ParseCommandLine(int argc, const char* const* argv) {
  Options options;
  std::vector<std::string> inputs;
  CLI::App app("Runs a Spirloom graph file on a Vulkan device.");
  app.allow_windows_style_options(false);  // the same on every platform: /file is a path
  app.footer(kFooter);
  app.formatter(std::make_shared<tools::HelpFormatter>());
  app.add_option("model", options.model, "Graph file (.slg)")->option_text("FILE");
  app.add_option("--method", options.method,
                 "Method of the file, e.g. prefill or decode (default: the first)")
      ->option_text("NAME");
  app.add_option("--input", inputs, "Input of the graph; repeat for each")
      ->option_text("NAME=FILE.npy")
      ->take_all()
      ->allow_extra_args(false);
  std::vector<std::string> ints;
  app.add_option("--int", ints, "Value of an integer input (default: its maximum); repeat for each")
      ->option_text("NAME=N")
      ->take_all()
      ->allow_extra_args(false);
  bool random = false;
  app.add_flag("--random", random, "Use random values within the bounds for missing inputs");
  uint64_t seed = 0;
  const CLI::Option* seeded =
      app.add_option("--seed", seed,
                     "Seed of the random values, which implies --random (default 0)")
          ->option_text("N")
          ->check(CLI::Validator(RejectInvalidSeed, ""));
  std::vector<std::string> sizes;
  app.add_option("--size", sizes,
                 "Size of random inputs with dynamic dimensions (default: the maximum); repeat for "
                 "each")
      ->option_text("NAME=N")
      ->take_all()
      ->allow_extra_args(false);
  CLI::Option* check = app.add_flag(
      "--check", options.check,
      "Run the test cases in the file (page 'File formats' of the documentation) and compare the "
      "outputs: "
      "|y - expected| <= ATOL + RTOL * |expected|. Exit code 1: an output failed");
  app.add_option("--rtol", options.rtol, "Relative tolerance of --check (default: by dtype)")
      ->option_text("RTOL")
      ->needs(check);
  app.add_option("--atol", options.atol, "Absolute tolerance of --check (default: by dtype)")
      ->option_text("ATOL")
      ->needs(check);
  app.add_flag_function(
         "--check-races{4}",
         [&options](int64_t orders) { options.race_orders = RaceOrders(orders); },
         "Compare runs bit by bit: as recorded, with barriers between all dispatches, with "
         "separate poisoned memory for each tensor, and in N (default 4) other orders of the "
         "dispatches that the plan allows. Exit code 1, with the first node that differs: a "
         "missing barrier, an "
         "uninitialized read or wrong memory sharing")
      ->option_text("[=N]");
  app.add_option("--amber", options.amber,
                 "Write the dispatches of a run in buffers as a script for Amber "
                 "(github.com/google/amber), with inputs, weights and the outputs of this device "
                 "as expected values; with --check, those of the first case")
      ->option_text("FILE");
  app.add_option("--renderdoc", options.renderdoc,
                 "Capture run N (1: the first) with RenderDoc, and print the path of the capture. "
                 "Dispatches have labels with the names of nodes")
      ->option_text("N")
      ->check(CLI::Range(1, 1000000))
      ->excludes(check);
  app.add_option("--output-dir", options.output_dir,
                 "Write each output to DIR/<name>.npy; creates DIR")
      ->option_text("DIR");
  CLI::Option* repeat =
      app.add_option("--repeat", options.repeat,
                     "Number of timed runs, after the first run and the warm-up (default 0)")
          ->option_text("N")
          ->check(CLI::Range(0, 1000000));
  app.add_option("--warmup", options.warmup,
                 "Number of untimed runs after the first run (default 0)")
      ->option_text("N")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--warmup-ms", options.warmup_ms,
                 "Minimum duration of the warm-up, which has as many more runs as that takes: an "
                 "idle GPU has a low clock rate (default 0)")
      ->option_text("MS")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--device", options.device,
                 "Index or id of a device from --list-devices (pci:…, uuid:…, luid:…), or part of "
                 "its name")
      ->option_text("DEVICE");
  const std::map<std::string, Storage> storages{{"auto", Storage::kAuto},
                                                {"buffer", Storage::kBuffer},
                                                {"texture3d", Storage::kTexture3D},
                                                {"texture2d", Storage::kTexture2D}};
  std::string storage = "auto";
  app.add_option(
         "--storage", storage,
         "Storage of tensors without a declared storage: auto, buffer, texture3d or texture2d")
      ->option_text("STORAGE")
      ->check(CLI::IsMember(&storages));
  app.add_option("--kernel", options.kernels,
                 "Kernel to use for all calls that it supports; repeat for more")
      ->type_name("NAME");
  app.add_flag("--tune", options.tune,
               "Measure the kernels of each call that has no cached result, use the fastest, and "
               "cache the results");
  AddLibraryOptions(app, options);
  AddLimitOptions(app, options);
  const std::map<std::string, Priority> priorities{
      {"default", Priority::kDefault}, {"low", Priority::kLow}, {"high", Priority::kHigh}};
  app.add_option("--priority", options.priority,
                 "Priority of the GPU work relative to other programs: low, default or high, which "
                 "requires privileges; no effect on devices without VK_KHR_global_priority")
      ->option_text("PRIORITY")
      ->transform(CLI::CheckedTransformer(priorities));
  app.add_option(
         "--cache-dir", options.cache_dir,
         "Directory of the pipeline cache and of the results of --tune; 'none' disables both")
      ->option_text("DIR");
  app.add_option("--verdicts", options.verdicts,
                 "Verdicts of spirloom verify: kernels that failed it are not selected (default: "
                 "the file in the cache directory); 'none' selects all kernels")
      ->option_text("FILE");
  app.add_flag("--profile", options.profile, "Print the GPU time of each dispatch and operator");
  app.add_flag("--time-runs", options.time_runs,
               "With --repeat: also print the GPU time of complete runs, without copies")
      ->needs(repeat);
  app.add_option("--trace", options.trace, "Write GPU times as a Chrome trace (Perfetto)")
      ->option_text("FILE");
  app.add_option(
         "--profile-out", options.profile_out,
         "Write a profile: times of each dispatch in the --repeat runs, reasons of kernels, "
         "bytes and operations, timeline, memory. Adds to an existing profile of the same "
         "plan. spirloom profile show FILE reads it")
      ->option_text("FILE.slprof");
  app.add_option("--json", options.json, "Write times, memory and counts as JSON")
      ->option_text("FILE");
  constexpr const char* kDispatches = "dispatches";
  std::vector<std::string> stages = PassNames();
  stages.emplace_back(kDispatches);
  std::string plan;
  app.add_flag("--plan{dispatches}", plan,
               "Print the execution plan: dispatches, copies, memory; or nodes and tensors after a "
               "pass of the compiler: " +
                   CLI::detail::join(PassNames(), ", "))
      ->option_text("[=PASS]")
      ->check(CLI::IsMember(stages));
  app.add_flag("--validation", options.validation,
               "Enable the Vulkan validation layers; any message fails the run");
  app.add_flag("--list-devices", options.list_devices, "List the devices and exit");
  app.add_flag(
      "--peaks", options.peaks,
      "Print the device's peaks (memory bandwidth, arithmetic throughput, dispatch latency) and "
      "exit; measured once and cached in --cache-dir");
  app.add_flag("--remeasure", options.remeasure,
               "With --peaks or --tune: ignore the cached results and measure again");
  try {
    app.parse(argc, argv);
    for (const std::string& input : inputs) options.inputs.push_back(SplitInput(input));
    for (const std::string& text : ints) options.ints.push_back(SplitInt("--int", text));
    for (const std::string& text : sizes) options.sizes.push_back(SplitInt("--size", text));
    if (random || *seeded) options.random = seed;
    options.storage = storages.at(storage);
    options.plan = plan == kDispatches;
    if (!options.plan) options.plan_pass = plan;
    if (options.remeasure && !options.peaks && !options.tune)
      throw CLI::RequiresError("--remeasure", "--peaks or --tune");
    if (options.model.empty() && !options.list_devices && !options.peaks)
      throw CLI::RequiredError("model");
  } catch (const CLI::ParseError& error) {
    const bool help = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(error);
    return {std::nullopt, help ? kSuccess : kUsage};
  }
  return {std::move(options), kSuccess};
}

}  // namespace spirloom::run
