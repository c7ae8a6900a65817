#ifndef SPIRLOOM_TOOLS_PEAKS_PEAKS_REPORT_H_
#define SPIRLOOM_TOOLS_PEAKS_PEAKS_REPORT_H_

#include <string>

#include "spirloom/runtime.h"
#include "tools/peaks/peaks.h"

namespace spirloom::peaks {

// A text table.
std::string PeaksTable(const DeviceInfo& device, const DevicePeaks& found);

// A JSON object with "device", "driver" and the fields of DevicePeaks.
std::string PeaksJson(const DeviceInfo& device, const DevicePeaks& found);

}  // namespace spirloom::peaks

#endif  // SPIRLOOM_TOOLS_PEAKS_PEAKS_REPORT_H_
