// Command-line flags of spirloom-executor-runner.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_RUNNER_FLAGS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_RUNNER_FLAGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::runner {

struct Flags {
  std::string model_path = "model.pte";
  std::string data_path = {};
  std::string method_name = "forward";
  std::vector<std::string> inputs = {};
  std::string output_file = {};
  bool print_all_output = false;
  uint32_t num_executions = 1;
  std::string etdump_path = {};
  std::vector<std::pair<std::string, std::string>> backend_options = {};
  bool help = false;
};

// Parses `--name=value` and `--name value`. Fails with kInvalidArgument, naming the flag.
Result<Flags> ParseFlags(std::span<char* const> args);

// The text of --help.
const char* Usage();

}  // namespace spirloom::runner

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_RUNNER_FLAGS_H_
