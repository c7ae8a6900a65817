#include "compiler/glsl/line_directive.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace spirloom::compiler {

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

bool ReadLineDirective(std::string_view line, LinePosition& position) {
  constexpr std::string_view kLine = "#line ";
  line = Trimmed(line);
  if (!line.starts_with(kLine)) return false;
  const std::string number(line.substr(kLine.size()));
  position.line = std::strtoul(number.c_str(), nullptr, /*base=*/10);
  const size_t begin = line.find('"');
  const size_t end = line.rfind('"');
  if (begin < end) position.file = line.substr(begin + 1, end - begin - 1);
  return true;
}

}  // namespace spirloom::compiler
