// What --tune says while it measures and afterwards.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_TUNE_REPORT_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_TUNE_REPORT_H_

#include <cstddef>
#include <span>
#include <string>

#include "spirloom/model.h"

namespace spirloom::run {

// A line that takes the place of the one before on a terminal, e.g. "tuning 3/17 conv1"; empty
// text when all is done.
std::string TuneProgress(const TunedCall& call, size_t done, size_t total);

// A table of the calls, those that gain most first, and what that is together.
std::string TuneReport(std::span<const TunedCall> calls);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_TUNE_REPORT_H_
