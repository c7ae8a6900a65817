// spirloom-run --peaks.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_PEAKS_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_PEAKS_H_

#include "spirloom/status.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// Prints the peaks of the device and, with --json, writes them as JSON. Measures them unless the
// cache directory holds them or --remeasure is set.
Status PrintPeaks(const Options& options);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_PEAKS_H_
