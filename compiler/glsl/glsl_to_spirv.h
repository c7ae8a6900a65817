// Compiles GLSL compute shaders to SPIR-V with glslang, in this process.
#ifndef SPIRLOOM_COMPILER_GLSL_GLSL_TO_SPIRV_H_
#define SPIRLOOM_COMPILER_GLSL_GLSL_TO_SPIRV_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/target.h"

namespace spirloom::compiler {

// An error of glslang. `where` is "file:line" according to the #line directives, and
// "file:line:column" in a spec.
struct GlslError {
  std::string where;
  std::string message;
};

// Either `words` (with debug names, not optimized) or at least one error.
struct GlslResult {
  std::vector<uint32_t> words;
  std::vector<GlslError> errors;
};

// Debug information of a module, in addition to names.
enum class DebugInfo : uint8_t {
  kNone,
  kLines,   // OpLine, with the files of #line directives
  kSource,  // the same, and OpSource with the text of the GLSL
  kShader,  // files, lines, scopes, types and variables as NonSemantic.Shader.DebugInfo.100
};

// Compiles a compute shader with the entry point `main`. Errors before the first #line directive
// report `file_name`. kSource and kShader permit debugPrintfEXT() in the GLSL; otherwise a call is
// an error. kShader requires a shader that computes nothing outside of functions, neither constants
// from specialization constants nor initial values of global variables: glslang 12 crashes
// otherwise. Thread-safe.
GlslResult GlslToSpirv(std::string_view glsl, const std::string& file_name, Target target,
                       DebugInfo debug_info = DebugInfo::kNone);

// The files that #line directives name, each once.
std::set<std::string> NamedFiles(std::string_view glsl);

// Parses the "ERROR: file:line: text" lines of a glslang log, without the final error count.
std::vector<GlslError> ParseGlslLog(std::string_view log, const std::string& file_name);

// e.g. "glslang 12.0.0 generator 11".
std::string GlslangVersion();

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_GLSL_GLSL_TO_SPIRV_H_
