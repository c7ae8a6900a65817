// Programs run as subprocesses.
#ifndef SPIRLOOM_TOOLS_DEV_TEMPLATES_PROCESS_H_
#define SPIRLOOM_TOOLS_DEV_TEMPLATES_PROCESS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::dev {

struct Command {
  std::vector<std::string> words;  // the program's path, and its arguments
  std::string variable = {};       // "NAME=VALUE", added to the environment unless empty
};

// Runs the command until it ends, what it prints to stdout and stderr going to the file `log`.
// Fails with kInvalidArgument and the printed text when its exit code is not 0, with kNotFound when
// it cannot be started.
Status Run(const Command& command, const std::filesystem::path& log);

}  // namespace spirloom::dev

#endif  // SPIRLOOM_TOOLS_DEV_TEMPLATES_PROCESS_H_
