#ifndef SPIRLOOM_TOOLS_SPIRLOOM_OPS_ARGUMENTS_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_OPS_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

namespace spirloom::tools {

// Arguments of the command line.
struct OpsArguments {
  bool json = false;
  std::string op_glob = "*";
  std::string extract;              // a directory; empty: do not extract
  std::string library;              // a .slpack file; empty: the built-in library
  std::vector<std::string> graphs;  // graph files whose kernels are selected; empty: list
  std::string devices;              // a JSON file of devices; empty: `device`
  std::string device;               // as RuntimeOptions::device
  bool explain = false;             // with the considered kernels
};

// Parses the command line. Returns nullopt if help or an error was printed; the program then exits
// with
// `*exit_code`.
std::optional<OpsArguments> ParseOpsArguments(int argc, const char* const* argv, int* exit_code);

// Whether the entire `text` matches `glob`: * matches any characters, ? matches one.
bool MatchesGlob(const std::string& glob, const std::string& text);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_ARGUMENTS_H_
