#include "compiler/glsl_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace spirloom::compiler {
namespace {

constexpr std::string_view kName =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

// Takes the name that the text begins with, and what space follows; empty if there is none.
std::string_view TakeName(std::string_view& text) {
  const std::string_view name = text.substr(0, text.find_first_not_of(kName));
  text = Trimmed(text.substr(name.size()));
  return name;
}

// The place that a `#line N "file"` gives to the line after it.
void FollowDirective(std::string_view line, std::string& file, unsigned long& number) {
  constexpr std::string_view kLine = "#line ";
  if (line.substr(0, kLine.size()) != kLine) return;
  number = std::strtoul(std::string(line.substr(kLine.size())).c_str(), nullptr, /*base=*/10);
  const size_t begin = line.find('"');
  const size_t end = line.rfind('"');
  if (begin < end) file = line.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::vector<GlslFunction> FunctionsOf(std::string_view glsl, const std::string& file_name) {
  std::vector<GlslFunction> functions;
  std::string file = file_name;
  unsigned long number = 1;
  while (!glsl.empty()) {
    const size_t size = std::min(glsl.find('\n'), glsl.size());
    const std::string_view line = Trimmed(glsl.substr(0, size));
    glsl.remove_prefix(std::min(size + 1, glsl.size()));
    const unsigned long here = number++;
    FollowDirective(line, file, number);
    std::string_view rest = line;
    const std::string_view type = TakeName(rest);
    const std::string_view name = TakeName(rest);
    const bool is_statement = type == "return" || type == "else";
    if (name.empty() || is_statement || rest.substr(0, 1) != "(") continue;
    const size_t end = std::min(line.find(')'), line.size() - 1);
    functions.push_back({file + ":" + std::to_string(here), std::string(name),
                         std::string(line.substr(0, end + 1))});
  }
  return functions;
}

}  // namespace spirloom::compiler
