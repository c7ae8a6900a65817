// GLSL compute shaders to SPIR-V, by glslang in this process.
#ifndef SPIRLOOM_COMPILER_GLSL_TO_SPIRV_H_
#define SPIRLOOM_COMPILER_GLSL_TO_SPIRV_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target.h"

namespace spirloom::compiler {

// An error glslang reports: `where` is "file:line" after the text's #line directives.
struct GlslError {
  std::string where;
  std::string message;
};

// Either `words` (with debug names, not optimised) or at least one error.
struct GlslResult {
  std::vector<uint32_t> words;
  std::vector<GlslError> errors;
};

// Compiles one compute shader with the entry point `main`. `file_name` stands in errors before the
// first #line directive. With `lines`, the module says for each instruction where it comes from.
// May be called from several threads at once.
GlslResult GlslToSpirv(std::string_view glsl, const std::string& file_name, Target target,
                       bool lines = false);

// Parses glslang's log: its "ERROR: file:line: text" lines, without the counts at the end.
std::vector<GlslError> ParseGlslLog(std::string_view log, const std::string& file_name);

// e.g. "glslang 12.0.0 generator 11".
std::string GlslangVersion();

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_GLSL_TO_SPIRV_H_
