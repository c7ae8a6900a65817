// Runs subprocesses.
#ifndef SPIRLOOM_TOOLS_DEV_TEMPLATES_PROCESS_H_
#define SPIRLOOM_TOOLS_DEV_TEMPLATES_PROCESS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::dev {

struct Command {
  std::vector<std::string> words;  // path of the program, and its arguments
  std::string variable = {};       // "NAME=VALUE", added to the environment; may be empty
};

// Runs the command, with stdout and stderr redirected to the file `log`, and waits for its end.
// Fails with kInvalidArgument and the printed text if the exit code is not 0, and with kNotFound if
// it cannot be started.
Status Run(const Command& command, const std::filesystem::path& log);

}  // namespace spirloom::dev

#endif  // SPIRLOOM_TOOLS_DEV_TEMPLATES_PROCESS_H_
