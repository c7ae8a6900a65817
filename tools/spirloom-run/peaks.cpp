#include "tools/spirloom-run/peaks.h"

#include <optional>
#include <string>

#include "spirloom/runtime.h"
#include "tools/peaks/peaks.h"
#include "tools/peaks/peaks_file.h"
#include "tools/peaks/peaks_report.h"
#include "tools/spirloom-run/text_output.h"

namespace spirloom::run {

Status PrintPeaks(const Options& options) {
  RuntimeOptions runtime_options;
  runtime_options.libraries = {&PeakProbes()};
  runtime_options.device = options.device;
  runtime_options.cache_dir = options.cache_dir;
  runtime_options.validation = options.validation;
  runtime_options.memory_limit = options.memory_limit;
  SPIRLOOM_TRY_ASSIGN(const Runtime runtime, Runtime::Create(runtime_options));
  const DeviceInfo& device = runtime.device();

  const std::string path = peaks::PeaksPath(options.cache_dir, device);
  std::optional<peaks::DevicePeaks> found;
  if (!options.remeasure) found = peaks::ReadPeaks(path);
  if (!found) {
    SPIRLOOM_TRY_ASSIGN(found, peaks::MeasurePeaks(runtime, peaks::ProbeTensorBytes(device)));
    peaks::WritePeaks(path, *found);
  }
  Print(peaks::PeaksTable(device, *found));
  return options.json.empty() ? Status()
                              : WriteText(options.json, peaks::PeaksJson(device, *found));
}

}  // namespace spirloom::run
