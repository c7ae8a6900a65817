// Columns of GLSL that is written in specs: glslang reports lines only.
#ifndef SPIRLOOM_COMPILER_GLSL_SPEC_COLUMNS_H_
#define SPIRLOOM_COMPILER_GLSL_SPEC_COLUMNS_H_

#include <string>
#include <string_view>

namespace spirloom::compiler {

// Returns the GLSL with each token of a spec on a line of its own, whose number is the token's
// column, and the file name "file:line" in `#line`: glslang then reports "file:line:column". Lines
// of templates, directives and comments of several lines remain. Empty if no line is of a spec.
//
// The generator gives lines after `#line N "NAME.yaml"` the columns of the spec. After an initial
// `/**/`, all tokens of the line have its column.
std::string WithSpecColumns(std::string_view glsl);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_GLSL_SPEC_COLUMNS_H_
