// The cache file of measured peaks.
#ifndef SPIRLOOM_TOOLS_PEAKS_PEAKS_FILE_H_
#define SPIRLOOM_TOOLS_PEAKS_PEAKS_FILE_H_

#include <optional>
#include <string>

#include "spirloom/runtime.h"
#include "tools/peaks/peaks.h"

namespace spirloom::peaks {

// The path of the file for a device and its driver version in a cache directory
// (RuntimeOptions::cache_dir). Empty for "none", and if the system has no cache directory.
std::string PeaksPath(const std::string& cache_dir, const DeviceInfo& device);

// The contents of a file of WritePeaks(). Empty if the file is missing, damaged, or of another
// format.
std::optional<DevicePeaks> ReadPeaks(const std::string& path);

// Failures to write are ignored: the file only saves time.
void WritePeaks(const std::string& path, const DevicePeaks& found);

}  // namespace spirloom::peaks

#endif  // SPIRLOOM_TOOLS_PEAKS_PEAKS_FILE_H_
