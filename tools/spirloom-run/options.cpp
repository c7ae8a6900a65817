#include "tools/spirloom-run/options.h"

#include <CLI/CLI.hpp>
#include <map>

namespace spirloom::run {
namespace {

constexpr const char* kFooter = R"(
Examples:
  spirloom-run digits.slg --input image=images.npy --output-dir out
  spirloom-run net.slg --random --warmup 3 --repeat 20
  spirloom-run net.slg --input x=x.npy --warmup 3 --repeat 20 --json stats.json
  spirloom-run chat.slg --method decode --random --warmup 3 --repeat 20 --profile
  spirloom-run --peaks --json peaks.json
  spirloom-run net.slg --input x=x.npy --profile --trace trace.json --device llvmpipe

Exit codes: 0 done, 1 the run failed, 2 a wrong argument or input file.)";

// Splits NAME=FILE; the name is up to the first '='.
NamedFile SplitInput(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw CLI::ValidationError("--input", "'" + text + "' is not NAME=FILE.npy");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void AddLibraryOptions(CLI::App& app, Options& options) {
  app.add_option("--library", options.libraries,
                 "A shader library (.slpack) to use beside what is built in; repeat for more")
      ->type_name("FILE");
  app.add_option("--override", options.overrides,
                 "The same, with operators that replace those of the same name")
      ->type_name("FILE");
  app.add_option("--dev-templates", options.dev_templates,
                 "Compile the model's operators of the templates in DIR, as they are now, before "
                 "those they were built from")
      ->type_name("DIR");
  app.add_flag("!--no-builtin", options.builtin, "Use the given libraries alone");
}

// CLI11 reads -1 as the greatest unsigned number.
std::string RefuseMinus(const std::string& text) {
  return text.starts_with('-') ? "'" + text + "' is below 0" : "";
}

void AddLimitOptions(CLI::App& app, Options& options) {
  const CLI::AsSizeValue bytes(/*kb_is_1000=*/false);
  app.add_option("--max-dispatches", options.max_dispatches,
                 "Refuse a graph of more dispatches (default: by the size of the file)")
      ->option_text("N")
      ->check(CLI::Validator(RefuseMinus, ""));
  app.add_option("--max-device-bytes", options.max_device_bytes,
                 "Refuse a graph that takes more device memory, e.g. 512M or 2G (default: by the "
                 "size of the file)")
      ->option_text("SIZE")
      ->transform(bytes)
      ->check(CLI::Validator(RefuseMinus, ""));
  app.add_option("--memory-limit", options.memory_limit,
                 "The most device memory to allocate in all (default: what the device has)")
      ->option_text("SIZE")
      ->transform(bytes)
      ->check(CLI::Validator(RefuseMinus, ""));
}

}  // namespace

ParseResult ParseCommandLine(int argc, const char* const* argv) {
  Options options;
  std::vector<std::string> inputs;
  CLI::App app("Runs a Spirloom graph file on a Vulkan device.");
  app.footer(kFooter);
  app.add_option("model", options.model, "The graph file (.slg)")->option_text("FILE");
  app.add_option("--method", options.method,
                 "Which of the file's methods, e.g. prefill or decode (default: the first)")
      ->option_text("NAME");
  app.add_option("--input", inputs, "An input of the graph; repeat for each")
      ->option_text("NAME=FILE.npy")
      ->take_all()
      ->allow_extra_args(false);
  uint64_t seed = 0;
  const CLI::Option* random =
      app.add_option("--random", seed,
                     "Make the inputs that are not given, within their bounds; equal seeds make "
                     "equal ones (default 0). Stands behind FILE")
          ->option_text("[SEED]")
          ->expected(0, 1);
  app.add_option("--output-dir", options.output_dir,
                 "Write each output to DIR/<name>.npy; made if absent")
      ->option_text("DIR");
  CLI::Option* repeat =
      app.add_option("--repeat", options.repeat, "Timed runs after the first (default 0)")
          ->option_text("N")
          ->check(CLI::Range(0, 1000000));
  app.add_option("--warmup", options.warmup, "Untimed runs between the first and those (default 0)")
      ->option_text("N")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--device", options.device,
                 "A device's index or id in --list-devices (pci:…, uuid:…, luid:…), or part of its "
                 "name")
      ->option_text("DEVICE");
  const std::map<std::string, Storage> storages{{"auto", Storage::kAuto},
                                                {"buffer", Storage::kBuffer},
                                                {"texture3d", Storage::kTexture3D},
                                                {"texture2d", Storage::kTexture2D}};
  std::string storage = "auto";
  app.add_option(
         "--storage", storage,
         "Where tensors live that do not ask for a storage: auto, buffer, texture3d or texture2d")
      ->option_text("STORAGE")
      ->check(CLI::IsMember(&storages));
  app.add_option("--kernel", options.kernels,
                 "A kernel to take wherever it can compute a call; repeat for more")
      ->type_name("NAME");
  app.add_flag("--tune", options.tune,
               "Measure the kernels of each call first, use the fastest, and remember them");
  AddLibraryOptions(app, options);
  AddLimitOptions(app, options);
  app.add_option("--cache-dir", options.cache_dir,
                 "Folder of the pipeline cache and of what --tune found; 'none' for neither")
      ->option_text("DIR");
  app.add_flag("--profile", options.profile, "Print GPU times of each dispatch and op");
  app.add_flag("--time-runs", options.time_runs,
               "With --repeat: print the GPU time of whole runs too, without copies")
      ->needs(repeat);
  app.add_option("--trace", options.trace, "Write GPU times as a Chrome (Perfetto) trace")
      ->option_text("FILE");
  app.add_option("--json", options.json, "Write times, memory and counts as JSON")
      ->option_text("FILE");
  app.add_flag("--plan", options.plan, "Print what the graph became: dispatches, copies, memory");
  app.add_flag("--validation", options.validation,
               "Turn the Vulkan validation layers on; any message makes the run fail");
  app.add_flag("--list-devices", options.list_devices, "List the devices and exit");
  CLI::Option* peaks = app.add_flag(
      "--peaks", options.peaks,
      "Print the device's peaks (memory bandwidth, arithmetic throughput, dispatch latency) and "
      "exit; measured once and cached in --cache-dir");
  app.add_flag("--measure-again", options.measure_again, "With --peaks: measure anew")
      ->needs(peaks);
  try {
    app.parse(argc, argv);
    for (const std::string& input : inputs) options.inputs.push_back(SplitInput(input));
    if (*random) options.random = seed;
    options.storage = storages.at(storage);
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
