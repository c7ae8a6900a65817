// Formats the progress and the results of --tune.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_TUNE_REPORT_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_TUNE_REPORT_H_

#include <cstddef>
#include <span>
#include <string>

#include "spirloom/model.h"

namespace spirloom::run {

// A line that overwrites the previous one on a terminal, e.g. "tuning 3/17 conv1"; clears the line
// when done.
std::string TuneProgress(const TunedCall& call, size_t done, size_t total);

// A table of the calls, sorted by decreasing gain, and the total.
std::string TuneReport(std::span<const TunedCall> calls);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_TUNE_REPORT_H_
