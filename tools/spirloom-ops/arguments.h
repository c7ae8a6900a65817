#ifndef SPIRLOOM_TOOLS_SPIRLOOM_OPS_ARGUMENTS_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_OPS_ARGUMENTS_H_

#include <optional>
#include <string>

namespace spirloom::tools {

// What the command line asks for.
struct OpsArguments {
  bool json = false;
  std::string op_glob = "*";
  std::string extract;  // a folder; empty: extract nothing
  std::string library;  // a .slpack file; empty: what is built in
};

// Parses the command line. Absent when the program is to end at once with `*exit_code`: help was
// printed, or an error.
std::optional<OpsArguments> ParseOpsArguments(int argc, char** argv, int* exit_code);

// Whether `text` as a whole matches `glob`, in which * stands for any characters and ? for one.
bool MatchesGlob(const std::string& glob, const std::string& text);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_ARGUMENTS_H_
