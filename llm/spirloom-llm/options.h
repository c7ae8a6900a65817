// The command line of spirloom-llm.
#ifndef SPIRLOOM_LLM_SPIRLOOM_LLM_OPTIONS_H_
#define SPIRLOOM_LLM_SPIRLOOM_LLM_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "llm/model/sampling.h"

namespace spirloom::llm {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;  // the run failed
inline constexpr int kUsage = 2;    // a wrong argument or file

struct Options {
  std::string model;
  std::optional<std::string> prompt;
  bool chat = false;
  std::string system;
  size_t tokens = 256;
  Sampling sampling;
  bool json = false;
  bool stats = false;
  bool tokenize = false;
  std::string device;
  std::vector<std::string> libraries;
  bool builtin = true;
  std::string cache_dir;
};

// Without options there is nothing to do but to exit with this code.
struct ParseResult {
  std::optional<Options> options;
  int exit_code = kSuccess;
};

// Prints help and errors itself.
ParseResult ParseCommandLine(int argc, const char* const* argv);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_SPIRLOOM_LLM_OPTIONS_H_
