// The --help of a program.
#ifndef SPIRLOOM_TOOLS_COMMON_HELP_FORMATTER_H_
#define SPIRLOOM_TOOLS_COMMON_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>

namespace spirloom::tools {

// Prints flags without the value that they set, `{4}` or `{false}`.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, is_positional);
    return name.substr(0, name.find('{'));
  }
};

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_COMMON_HELP_FORMATTER_H_
