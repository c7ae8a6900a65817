// Compiles GLSL compute shaders to SPIR-V with glslang, in this process.
#ifndef SPIRLOOM_COMPILER_GLSL_GLSL_TO_SPIRV_H_
#define SPIRLOOM_COMPILER_GLSL_GLSL_TO_SPIRV_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/target.h"

namespace spirloom::compiler {

// An error of glslang. `where` is "file:line" according to the #line directives.
struct GlslError {
  std::string where;
  std::string message;
};

// Either `words` (with debug names, not optimized) or at least one error.
struct GlslResult {
  std::vector<uint32_t> words;
  std::vector<GlslError> errors;
};

// Compiles a compute shader with the entry point `main`. Errors before the first #line directive
// report `file_name`. With `lines`, the module contains line information (OpLine). Thread-safe.
GlslResult GlslToSpirv(std::string_view glsl, const std::string& file_name, Target target,
                       bool lines = false);

// Parses the "ERROR: file:line: text" lines of a glslang log, without the final error count.
std::vector<GlslError> ParseGlslLog(std::string_view log, const std::string& file_name);

// e.g. "glslang 12.0.0 generator 11".
std::string GlslangVersion();

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_GLSL_GLSL_TO_SPIRV_H_
