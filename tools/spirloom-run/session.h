// Executes the command line.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_SESSION_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_SESSION_H_

#include "spirloom/status.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// Lists devices, prints peaks, or loads and runs the model, and writes outputs and reports.
Status Execute(const Options& options);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_SESSION_H_
