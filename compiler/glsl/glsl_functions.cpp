#include "compiler/glsl/glsl_functions.h"

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

// Removes and returns the identifier at the start of `text`, with the blanks after it; empty if
// there is none.
std::string_view TakeIdentifier(std::string_view& text) {
  const std::string_view name = text.substr(0, text.find_first_not_of(kName));
  text = Trimmed(text.substr(name.size()));
  return name;
}

// If `line` is `#line N "file"`, sets the position of the next line.
void ApplyLineDirective(std::string_view line, std::string& file, unsigned long& line_number) {
  constexpr std::string_view kLine = "#line ";
  if (line.substr(0, kLine.size()) != kLine) return;
  line_number = std::strtoul(std::string(line.substr(kLine.size())).c_str(), nullptr, /*base=*/10);
  const size_t begin = line.find('"');
  const size_t end = line.rfind('"');
  if (begin < end) file = line.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::vector<GlslFunction> FunctionsOf(std::string_view glsl, const std::string& file_name) {
  std::vector<GlslFunction> functions;
  std::string file = file_name;
  unsigned long line_number = 1;
  while (!glsl.empty()) {
    const size_t size = std::min(glsl.find('\n'), glsl.size());
    const std::string_view line = Trimmed(glsl.substr(0, size));
    glsl.remove_prefix(std::min(size + 1, glsl.size()));
    const unsigned long here = line_number++;
    ApplyLineDirective(line, file, line_number);
    std::string_view rest = line;
    const std::string_view type = TakeIdentifier(rest);
    const std::string_view name = TakeIdentifier(rest);
    const bool is_statement = type == "return" || type == "else";
    if (name.empty() || is_statement || rest.substr(0, 1) != "(") continue;
    const size_t end = std::min(line.find(')'), line.size() - 1);
    functions.push_back({file + ":" + std::to_string(here), std::string(name),
                         std::string(line.substr(0, end + 1))});
  }
  return functions;
}

}  // namespace spirloom::compiler
