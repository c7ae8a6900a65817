// Opens the shader libraries of a run.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_LIBRARIES_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_LIBRARIES_H_

#include <vector>

#include "spirloom/library.h"
#include "spirloom/status.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// Opens the built-in library (unless disabled), the library files, and the library compiled from
// --dev-templates.
Result<std::vector<ShaderLibrary>> OpenLibraries(const Options& options);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_LIBRARIES_H_
