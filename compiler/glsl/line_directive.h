// `#line` directives of GLSL that the generator writes.
#ifndef SPIRLOOM_COMPILER_GLSL_LINE_DIRECTIVE_H_
#define SPIRLOOM_COMPILER_GLSL_LINE_DIRECTIVE_H_

#include <string>
#include <string_view>

namespace spirloom::compiler {

// The file and the number of a line according to the directives above it.
struct LinePosition {
  std::string file;
  unsigned long line = 1;
};

// If `line` is `#line N "file"`, sets the position of the next line and returns true.
bool ReadLineDirective(std::string_view line, LinePosition& position);

// The text without blanks at its start.
std::string_view Trimmed(std::string_view text);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_GLSL_LINE_DIRECTIVE_H_
