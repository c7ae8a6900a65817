// Finds the function declarations in GLSL text, for error messages.
#ifndef SPIRLOOM_COMPILER_GLSL_GLSL_FUNCTIONS_H_
#define SPIRLOOM_COMPILER_GLSL_GLSL_FUNCTIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace spirloom::compiler {

// A prototype or definition at the start of a line. `where` is "file:line" according to the #line
// directives; `declaration` is e.g. "float x_load(int i)".
struct GlslFunction {
  std::string where;
  std::string name;
  std::string declaration;
};

// In text order. `file_name` is the file before the first #line directive.
std::vector<GlslFunction> FunctionsOf(std::string_view glsl, const std::string& file_name);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_GLSL_GLSL_FUNCTIONS_H_
