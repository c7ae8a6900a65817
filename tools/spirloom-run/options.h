// The command line of spirloom-run.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_OPTIONS_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spirloom/runtime.h"
#include "spirloom/types.h"

namespace spirloom::run {

struct NamedFile {
  std::string name;
  std::string path;
};

struct NamedInt {
  std::string name;
  int64_t value = 0;
};

struct Options {
  std::string model;
  std::string method;  // empty: the first method
  std::vector<NamedFile> inputs;
  std::vector<NamedInt> ints;      // integer inputs; others have their maximum
  std::vector<NamedInt> sizes;     // symbols, for random inputs; others have their maximum
  std::optional<uint64_t> random;  // seed of missing inputs
  bool check = false;              // run the cases in the file
  std::optional<double> rtol;      // of --check; default: by dtype
  std::optional<double> atol;
  int race_orders = 0;     // --check-races; 0: no check
  std::string amber;       // output file; empty: none
  int renderdoc = 0;       // the run that RenderDoc captures, from 1; 0: none
  std::string output_dir;  // empty: outputs are not written
  int repeat = 0;          // timed runs after the first and the warm-up
  int warmup = 0;
  int warmup_ms = 0;  // minimum duration of the warm-up
  std::string device;
  Storage storage = Storage::kAuto;
  std::vector<std::string> kernels;
  bool tune = false;
  std::vector<std::string> libraries;  // additional .slpack files
  std::vector<std::string> overrides;  // .slpack files whose operators replace others
  std::string dev_templates;           // directory of templates to compile; empty: none
  bool builtin = true;                 // use the built-in operators
  std::string cache_dir;
  std::string verdicts;
  uint64_t max_dispatches = 0;  // 0 here and below: default limit
  uint64_t max_device_bytes = 0;
  uint64_t memory_limit = 0;
  double max_submission_ms = 100;  // 0: a run is one submission
  Priority priority = Priority::kDefault;
  bool profile = false;
  bool time_runs = false;
  bool plan = false;      // print the dispatches and memory
  std::string plan_pass;  // print the plan after this pass; empty: no
  bool validation = false;
  bool list_devices = false;
  bool peaks = false;
  bool remeasure = false;
  std::string trace;  // output file; empty: none
  std::string profile_out;
  std::string json;
};

// Exit codes: success; failed run; invalid arguments or input files.
enum ExitCode : int { kSuccess = 0, kFailure = 1, kUsage = 2 };

// Parses the command line. Returns an exit code instead of options if help or an error was printed.
struct ParseResult {
  std::optional<Options> options;
  int exit_code = kSuccess;
};
ParseResult ParseCommandLine(int argc, const char* const* argv);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_OPTIONS_H_
