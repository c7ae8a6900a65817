// Errors about what people wrote: each ends at a line of a spec or a template.
#ifndef SPIRLOOM_COMPILER_DIAGNOSTICS_H_
#define SPIRLOOM_COMPILER_DIAGNOSTICS_H_

#include <string>
#include <vector>

namespace spirloom::compiler {

// `where` is "file:line" or "file:line:column"; `variant` the id of the variant it was found in.
struct Diagnostic {
  std::string where;
  std::string message;
  std::string variant;
};

// One line for each distinct (where, message), sorted by file, then line and column:
//   templates/glsl/binary.glsl.j2:25: error: 'strde' : undeclared identifier   (add_f16_buffer)
// The first three variants are named, the others counted.
std::string FormatDiagnostics(std::vector<Diagnostic> diagnostics);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_DIAGNOSTICS_H_
