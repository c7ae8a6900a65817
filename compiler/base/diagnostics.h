// Errors in specs and templates, with their positions.
#ifndef SPIRLOOM_COMPILER_BASE_DIAGNOSTICS_H_
#define SPIRLOOM_COMPILER_BASE_DIAGNOSTICS_H_

#include <string>
#include <vector>

namespace spirloom::compiler {

// `where` is "file:line" or "file:line:column"; `variant` is the id of the variant with the error.
struct Diagnostic {
  std::string where;
  std::string message;
  std::string variant;
};

// One line per distinct (where, message), sorted by file, line and column:
//   templates/glsl/binary.glsl.j2:25: error: 'strde' : undeclared identifier   (add_f16_buffer)
// Lists the first three variants and the number of the others.
std::string FormatDiagnostics(std::vector<Diagnostic> diagnostics);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_BASE_DIAGNOSTICS_H_
