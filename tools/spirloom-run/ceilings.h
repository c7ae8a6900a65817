// spirloom-run --ceilings.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_CEILINGS_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_CEILINGS_H_

#include "spirloom/status.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// Prints what the device can do at most, as JSON too if asked for: what is kept of an earlier
// measurement, or one made now.
Status PrintCeilings(const Options& options);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_CEILINGS_H_
