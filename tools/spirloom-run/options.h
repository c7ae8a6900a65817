// The command line of spirloom-run.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_OPTIONS_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spirloom/types.h"

namespace spirloom::run {

struct NamedFile {
  std::string name;
  std::string path;
};

struct Options {
  std::string model;
  std::string method;  // empty: the first
  std::vector<NamedFile> inputs;
  std::optional<uint64_t> random;  // the seed of inputs that are not given
  std::string output_dir;          // empty: outputs are not written
  int repeat = 0;                  // timed runs after the first and the warm-up
  int warmup = 0;
  std::string device;
  Storage storage = Storage::kAuto;
  std::vector<std::string> kernels;
  bool tune = false;
  std::vector<std::string> libraries;  // .slpack files beside the operators built in
  std::vector<std::string> overrides;  // the same, whose operators replace others
  std::string dev_templates;           // a folder of templates to compile; empty: none
  bool builtin = true;                 // the operators built in are there
  std::string cache_dir;
  uint64_t max_dispatches = 0;  // 0 in each: the runtime's own limit
  uint64_t max_device_bytes = 0;
  uint64_t memory_limit = 0;
  bool profile = false;
  bool time_runs = false;
  bool plan = false;
  bool validation = false;
  bool list_devices = false;
  bool peaks = false;
  bool measure_again = false;
  std::string trace;  // file names; empty: not wanted
  std::string json;
};

// Exit codes: done; the run failed; the user asked for something that cannot be.
enum ExitCode : int { kSuccess = 0, kFailure = 1, kUsage = 2 };

// Parses the command line. Returns an exit code instead of options when the program is done, having
// printed help or an error.
struct ParseResult {
  std::optional<Options> options;
  int exit_code = kSuccess;
};
ParseResult ParseCommandLine(int argc, const char* const* argv);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_OPTIONS_H_
