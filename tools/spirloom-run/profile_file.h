// Profile files (.slprof): what a model's dispatches do, and their times in all recorded runs.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_PROFILE_FILE_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_PROFILE_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// A phase of a run on the host, in nanoseconds since the start of the run.
struct HostPhase {
  const char* name = "";
  uint64_t start_ns = 0;
  uint64_t ns = 0;
};

// The times of one run. The host's phases are in order.
struct RunSample {
  std::vector<DispatchProfile> dispatches;
  uint64_t gpu_ns = 0;  // from the start of the first dispatch to the end of the last
  std::vector<HostPhase> host;
};

// Writes `runs` of `model` to the file at `path`, in the format of
// docs/reference/file-formats.md. If the file exists and describes the same dispatches on the
// same device, adds the runs to it. Fails with kInvalidFile if the file is no profile or is
// damaged, and with kInvalidArgument if it describes another plan or device; it is then unchanged.
Status AddToProfile(const std::string& path, const Options& options, const Runtime& runtime,
                    const Model& model, std::span<const RunSample> runs);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_PROFILE_FILE_H_
