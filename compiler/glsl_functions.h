// The functions of a GLSL text, for errors that name one.
#ifndef SPIRLOOM_COMPILER_GLSL_FUNCTIONS_H_
#define SPIRLOOM_COMPILER_GLSL_FUNCTIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace spirloom::compiler {

// A prototype or definition that begins on a line of its own: `where` is "file:line" after the
// text's #line directives, `declaration` e.g. "void y_put(int i, float value)".
struct GlslFunction {
  std::string where;
  std::string name;
  std::string declaration;
};

// In the order of the text. `file_name` stands before the first #line directive.
std::vector<GlslFunction> FunctionsOf(std::string_view glsl, const std::string& file_name);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_GLSL_FUNCTIONS_H_
