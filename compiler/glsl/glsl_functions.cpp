#include "compiler/glsl/glsl_functions.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compiler/glsl/line_directive.h"

namespace spirloom::compiler {
namespace {

constexpr std::string_view kName =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

// Removes and returns the identifier at the start of `text`, with the blanks after it; empty if
// there is none.
std::string_view TakeIdentifier(std::string_view& text) {
  const std::string_view name = text.substr(0, text.find_first_not_of(kName));
  text = Trimmed(text.substr(name.size()));
  return name;
}

}  // namespace

std::vector<GlslFunction> FunctionsOf(std::string_view glsl, const std::string& file_name) {
  std::vector<GlslFunction> functions;
  LinePosition position{.file = file_name, .line = 1};
  while (!glsl.empty()) {
    const size_t size = std::min(glsl.find('\n'), glsl.size());
    const std::string_view line = Trimmed(glsl.substr(0, size));
    glsl.remove_prefix(std::min(size + 1, glsl.size()));
    const LinePosition here = position;
    ++position.line;
    ReadLineDirective(line, position);
    std::string_view rest = line;
    const std::string_view type = TakeIdentifier(rest);
    const std::string_view name = TakeIdentifier(rest);
    const bool is_statement = type == "return" || type == "else";
    if (name.empty() || is_statement || rest.substr(0, 1) != "(") continue;
    const size_t end = std::min(line.find(')'), line.size() - 1);
    functions.push_back({here.file + ":" + std::to_string(here.line), std::string(name),
                         std::string(line.substr(0, end + 1))});
  }
  return functions;
}

}  // namespace spirloom::compiler
