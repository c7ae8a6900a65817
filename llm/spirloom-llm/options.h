// Command-line options of spirloom-llm.
#ifndef SPIRLOOM_LLM_SPIRLOOM_LLM_OPTIONS_H_
#define SPIRLOOM_LLM_SPIRLOOM_LLM_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "llm/model/sampling.h"

namespace spirloom::llm {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;  // failed run
inline constexpr int kUsage = 2;    // invalid argument or file

struct Options {
  std::string model;
  std::optional<std::string> prompt;
  bool chat = false;
  std::string system;
  size_t max_tokens = 256;
  Sampling sampling;
  bool json = false;
  bool stats = false;
  bool tokenize = false;
  std::string device;
  std::vector<std::string> libraries;
  bool builtin = true;
  std::string cache_dir;
};

// If `options` is empty, the program exits with `exit_code`.
struct ParseResult {
  std::optional<Options> options;
  int exit_code = kSuccess;
};

// Prints help to standard output and errors to standard error.
ParseResult ParseCommandLine(int argc, const char* const* argv);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_SPIRLOOM_LLM_OPTIONS_H_
