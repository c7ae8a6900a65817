// The shader libraries of a run.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_LIBRARIES_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_LIBRARIES_H_

#include <vector>

#include "spirloom/library.h"
#include "spirloom/status.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// What is built in, unless the options leave it out, the files they name, and the model's operators
// made of templates that are being written.
Result<std::vector<ShaderLibrary>> OpenLibraries(const Options& options);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_LIBRARIES_H_
