// Does what the command line asks for.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_SESSION_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_SESSION_H_

#include "spirloom/status.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// Lists devices, prints peaks, or loads the model, runs it, and writes and prints what is asked
// for.
Status Do(const Options& options);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_SESSION_H_
